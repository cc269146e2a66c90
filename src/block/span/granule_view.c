#include "block/span/granule_view.h"

#include "block/span/reader.h"

enum { WHOLE = SF_COL_ATTRS | SF_COL_EVENTS | SF_COL_LINKS | SF_COL_REST };

struct sf_granule_view sf_granule_view_init(const struct sf_span_block_reader *r, uint32_t granule,
                                            struct sf_arena *req)
{
    struct sf_granule_view v = {.r = r, .granule = granule, .req = req};

    SF_ASSERT(granule < r->n_granules);
    v.info = &r->granules[granule];
    v.rows = (struct sf_span_rows){.n_rows = v.info->n_rows,
                                   .tenant = v.info->tenant,
                                   .resources = r->resources,
                                   .n_resources = r->n_resources,
                                   .scopes = r->scopes,
                                   .n_scopes = r->n_scopes};
    return v;
}

static struct sf_granule_ctx ctx_of(struct sf_granule_view *v, struct sf_why *why)
{
    return (struct sf_granule_ctx){.r = v->r,
                                   .granule = v->granule,
                                   .n_rows = v->info->n_rows,
                                   .tenant = v->info->tenant,
                                   .req = v->req,
                                   .why = why};
}

/* Adds the columns that these are computed from. */
static uint32_t with_needs(uint32_t columns)
{
    if (columns & SF_COL_PARENT)
        columns |= SF_COL_IDS;
    if (columns & SF_COL_IDS)
        columns |= SF_COL_TRACES;
    if (columns & (SF_COL_TIMES | SF_COL_EVENTS))
        columns |= SF_COL_START;
    return columns;
}

static enum sf_err add_traces(struct sf_granule_view *v, struct sf_granule_ctx *c, uint32_t columns)
{
    enum sf_err err = SF_OK;
    if (!v->trace_rows && columns & (SF_COL_TRACES | SF_COL_START))
        err = sf_granule_trace_rows(c, &v->trace_rows);
    if (!err && columns & SF_COL_TRACES)
        err = sf_granule_traces(c, v->trace_rows, &v->trace_ids, &v->firsts);
    if (!err && columns & SF_COL_IDS)
        err = sf_granule_ids(c, v->trace_ids, v->trace_rows, &v->rows);
    if (!err && columns & SF_COL_PARENT)
        err = sf_granule_parents(c, v->trace_rows, &v->rows);
    if (!err && columns & SF_COL_START)
        err = sf_granule_starts(c, v->trace_rows, &v->rows.start_ns);
    return err;
}

static enum sf_err add_columns(struct sf_granule_view *v, uint32_t wanted, struct sf_why *why);

/* If no span ends before it starts, the stored difference is the duration, and starts need not be
 * read. */
static enum sf_err add_durations(struct sf_granule_view *v, struct sf_granule_ctx *c)
{
    const uint64_t *stored;
    uint64_t *durations, high = 0;
    enum sf_err err = sf_granule_column_numbers(c, SF_BLOCK_DURATION, c->n_rows, &stored);
    if (err)
        return err;
    if (!stored)
        return sf_span_block_reader_corrupt(c->r, c->granule, SF_BLOCK_DURATION, c->why);
    durations = (uint64_t *)(uintptr_t)stored; /* the array belongs to this function */
    for (uint32_t i = 0; i < c->n_rows; i++)
        high |= durations[i];
    if (high > (uint64_t)INT64_MAX || sf_granule_view_has_strays(v)) {
        if (!v->rows.start_ns)
            err = add_columns(v, SF_COL_START, c->why);
        for (uint32_t i = 0; !err && i < c->n_rows; i++) {
            uint64_t ns = durations[i];
            if (v->rows.start_ns[i] + ns < v->rows.start_ns[i])
                ns = 0;
            durations[i] = ns > (uint64_t)INT64_MAX ? (uint64_t)INT64_MAX : ns;
        }
    }
    v->rows.duration_ns = durations;
    return err;
}

/* Adds all columns except whole rows. */
static enum sf_err add_columns(struct sf_granule_view *v, uint32_t wanted, struct sf_why *why)
{
    struct sf_granule_ctx c = ctx_of(v, why);
    uint32_t columns = with_needs(wanted) & ~v->columns;
    enum sf_err err = add_traces(v, &c, columns);
    if (!err && columns & SF_COL_TIMES)
        err = sf_granule_ends(&c, &v->rows);
    if (!err && columns & SF_COL_DURATION)
        err = add_durations(v, &c);
    if (!err && columns & SF_COL_KIND)
        err = sf_granule_kinds(&c, &v->rows);
    if (!err && columns & SF_COL_NAME)
        err = sf_granule_column_texts(&c, SF_BLOCK_NAME, c.n_rows, &v->rows.name);
    if (!err && columns & SF_COL_STATUS_MSG)
        err = sf_granule_column_texts(&c, SF_BLOCK_STATUS_MSG, c.n_rows, &v->rows.status_msg);
    if (!err && columns & (SF_COL_RESOURCE | SF_COL_SCOPE))
        err = sf_granule_codes(&c, columns, &v->rows);
    if (!err)
        v->columns |= columns & ~(uint32_t)WHOLE;
    return err;
}

enum sf_err sf_granule_view_add(struct sf_granule_view *v, uint32_t columns, struct sf_why *why)
{
    uint32_t whole = (columns | v->columns) & WHOLE;
    struct sf_granule_ctx c = ctx_of(v, why);
    enum sf_err err = add_columns(v, columns, why);
    if (!err && whole & ~v->columns)
        err = sf_granule_spans(&c, whole, v->rows.start_ns, 0, c.n_rows, &v->rows.spans);
    if (!err)
        v->columns |= whole;
    return err;
}

/* Sets rows.want: one column for each key. */
static enum sf_err granule_view_want(struct sf_granule_view *v, const struct sf_key *keys, size_t n,
                                     struct sf_why *why)
{
    struct sf_granule_ctx c = ctx_of(v, why);
    return n ? sf_granule_want(&c, keys, n, &v->rows.want) : SF_OK;
}

enum sf_err sf_granule_view_value(struct sf_granule_view *v, const struct sf_key *key,
                                  struct sf_value_column *out, struct sf_why *why)
{
    struct sf_granule_ctx c = ctx_of(v, why);
    const struct sf_value_column *one;
    enum sf_err err = sf_granule_want(&c, key, 1, &one);
    if (!err)
        *out = *one;
    return err;
}

enum sf_err sf_granule_view_part(struct sf_granule_view *v, uint32_t columns,
                                 const struct sf_key *keys, size_t n_keys, uint32_t from,
                                 uint32_t to, struct sf_span_rows *out, struct sf_why *why)
{
    struct sf_granule_ctx c = ctx_of(v, why);
    enum sf_err err = add_columns(v, columns, why);
    struct sf_span_rows part;
    struct sf_value_column *want;
    if (!err)
        err = granule_view_want(v, keys, n_keys, why);
    if (err)
        return err;
    part = sf_span_rows_slice(&v->rows, from, to - from);
    if (columns & WHOLE)
        err = sf_granule_spans(&c, columns & WHOLE, v->rows.start_ns, from, to, &part.spans);
    want = sf_arena_new_n(v->req, n_keys, sizeof(*want));
    if (!want)
        err = err ? err : sf_span_block_reader_limit(why);
    for (size_t i = 0; !err && i < n_keys; i++) {
        want[i] = v->rows.want[i];
        want[i].code += from;
    }
    part.want = n_keys ? want : NULL;
    if (!err)
        *out = part;
    return err;
}

bool sf_granule_view_has_strays(const struct sf_granule_view *v)
{
    struct sf_chunk_desc d[2];
    return sf_span_block_reader_descs(v->r, v->granule, SF_BLOCK_INDEX, d) > 0;
}

enum sf_err sf_granule_view_index(struct sf_granule_view *v, const int64_t **out,
                                  struct sf_why *why)
{
    uint32_t n = v->info->n_rows;
    int64_t *index = sf_arena_raw(v->req, (size_t)n * sizeof(*index), 16);
    struct sf_arena tmp;
    struct sf_granule_ctx c = ctx_of(v, why);
    const uint64_t *deltas;
    enum sf_err err = index ? add_columns(v, SF_COL_START, why) : sf_span_block_reader_limit(why);

    tmp = *v->req;
    c.req = &tmp;
    if (!err)
        err = sf_granule_column_numbers(&c, SF_BLOCK_INDEX, n, &deltas);
    if (err)
        return err;
    for (uint32_t i = 0; i < n; i++)
        index[i] = (int64_t)(v->rows.start_ns[i] + (deltas ? deltas[i] : 0));
    *out = index;
    return SF_OK;
}

enum sf_err sf_granule_view_index_times(const struct sf_span_block_reader *r, uint32_t granule,
                                        struct sf_arena *req, const int64_t **out,
                                        struct sf_why *why)
{
    struct sf_granule_view v = sf_granule_view_init(r, granule, req);
    return sf_granule_view_index(&v, out, why);
}

enum sf_err sf_granule_view_read(const struct sf_span_block_reader *r, uint32_t granule,
                                 uint32_t columns, const struct sf_key *want_keys, size_t n_want,
                                 struct sf_arena *req, struct sf_span_rows *out, struct sf_why *why)
{
    struct sf_granule_view v = sf_granule_view_init(r, granule, req);
    enum sf_err err = sf_granule_view_add(&v, columns | SF_COL_IDS, why);
    if (!err)
        err = granule_view_want(&v, want_keys, n_want, why);
    if (err)
        return err;
    *out = v.rows;
    if (!(columns & (SF_COL_TIMES | SF_COL_START)))
        out->start_ns = NULL; /* read only for the events */
    return SF_OK;
}
