/* granule.c - decodes the requested columns of one granule. */
#include "block/format/encoding.h"
#include "block/span/reader.h"

enum sf_err sf_granule_trace_rows(struct sf_granule_ctx *c, const uint32_t **out)
{
    uint32_t n = c->r->granules[c->granule].n_traces;
    uint64_t sum = 0;
    enum sf_err err = sf_granule_column_u32s(c, SF_BLOCK_TRACE_ROWS, n, c->n_rows, out);

    if (err)
        return err;
    for (uint32_t t = 0; t < n; t++) {
        if ((*out)[t] == 0)
            return sf_span_block_reader_corrupt(c->r, c->granule, SF_BLOCK_TRACE_ROWS, c->why);
        sum += (*out)[t];
    }
    return sum == c->n_rows
               ? SF_OK
               : sf_span_block_reader_corrupt(c->r, c->granule, SF_BLOCK_TRACE_ROWS, c->why);
}

enum sf_err sf_granule_traces(struct sf_granule_ctx *c, const uint32_t *trace_rows,
                              const sf_trace_id **out_ids, const uint32_t **out_firsts)
{
    uint32_t n = c->r->granules[c->granule].n_traces, row = 0;
    uint32_t *firsts = sf_arena_raw(c->req, ((size_t)n + 1) * sizeof(*firsts), 16);
    const uint8_t *ids;
    enum sf_err err;

    if (!firsts)
        return sf_span_block_reader_limit(c->why);
    err = sf_granule_column_fixed(c, SF_BLOCK_TRACE_ID, SF_ENC_FIX16, n, &ids);
    if (err)
        return err;
    for (uint32_t t = 0; t < n; t++) {
        firsts[t] = row;
        row += trace_rows[t];
    }
    firsts[n] = row;
    *out_ids = (const sf_trace_id *)(const void *)ids;
    *out_firsts = firsts;
    return SF_OK;
}

enum sf_err sf_granule_ids(struct sf_granule_ctx *c, const sf_trace_id *trace_ids,
                           const uint32_t *trace_rows, struct sf_span_rows *out)
{
    uint32_t n = c->r->granules[c->granule].n_traces, row = 0;
    sf_trace_id *ids = sf_arena_raw(c->req, (size_t)c->n_rows * sizeof(*ids), 16);
    const uint8_t *span_ids;
    enum sf_err err;

    if (!ids)
        return sf_span_block_reader_limit(c->why);
    err = sf_granule_column_fixed(c, SF_BLOCK_SPAN_ID, SF_ENC_FIX8, c->n_rows, &span_ids);
    if (err)
        return err;
    for (uint32_t t = 0; t < n; t++) {
        for (uint32_t i = 0; i < trace_rows[t]; i++)
            ids[row++] = trace_ids[t];
    }
    out->trace_id = ids;
    out->span_id = (const sf_span_id *)(const void *)span_ids;
    return SF_OK;
}

struct parents { /* the three columns of which one has the parent */
    const uint8_t *codes, *ids;
    const uint32_t *rows;
    uint32_t n_wide, n_foreign;
};

static enum sf_err read_parent_columns(struct sf_granule_ctx *c, struct parents *p)
{
    enum sf_err err = sf_granule_column_fixed(c, SF_BLOCK_PARENT, SF_ENC_CODE8, c->n_rows,
                                              &p->codes);

    if (err)
        return err;
    for (uint32_t i = 0; i < c->n_rows; i++) {
        p->n_wide += p->codes[i] == SF_BLOCK_PARENT_WIDE;
        p->n_foreign += p->codes[i] == SF_BLOCK_PARENT_FOREIGN;
    }
    err = sf_granule_column_u32s(c, SF_BLOCK_PARENT_ROW, p->n_wide, UINT16_MAX, &p->rows);
    return err ? err
               : sf_granule_column_fixed(c, SF_BLOCK_PARENT_ID, SF_ENC_FIX8, p->n_foreign, &p->ids);
}

enum sf_err sf_granule_parents(struct sf_granule_ctx *c, const uint32_t *trace_rows,
                               struct sf_span_rows *out)
{
    sf_span_id *parents = sf_arena_raw(c->req, (size_t)c->n_rows * sizeof(*parents), 16);
    struct sf_arena tmp;
    struct sf_granule_ctx inner = *c;
    struct parents p = {0};
    uint32_t row = 0, wide = 0, foreign = 0;
    enum sf_err err;

    if (!parents)
        return sf_span_block_reader_limit(c->why);
    tmp = *c->req;
    inner.req = &tmp;
    err = read_parent_columns(&inner, &p);
    if (err)
        return err;
    for (uint32_t t = 0, start = 0; row < c->n_rows; start += trace_rows[t++]) {
        for (uint32_t i = 0; i < trace_rows[t]; i++, row++) {
            uint32_t code = p.codes[row];
            if (code == 0) {
                parents[row] = 0;
                continue;
            }
            if (code == SF_BLOCK_PARENT_FOREIGN) {
                parents[row] = sf_load_u64le(p.ids + (size_t)foreign++ * 8);
                continue;
            }
            code = code == SF_BLOCK_PARENT_WIDE ? p.rows[wide++] : code - 1;
            if (code >= trace_rows[t])
                return sf_span_block_reader_corrupt(c->r, c->granule, SF_BLOCK_PARENT, c->why);
            parents[row] = out->span_id[start + code];
        }
    }
    out->parent_id = parents;
    return SF_OK;
}

enum sf_err sf_granule_starts(struct sf_granule_ctx *c, const uint32_t *trace_rows,
                              const uint64_t **out)
{
    uint32_t n = c->r->granules[c->granule].n_traces, row = 0;
    const uint64_t *deltas, *trace_deltas;
    uint64_t *starts, start = 0;
    struct sf_arena tmp;
    struct sf_granule_ctx inner = *c;
    enum sf_err err = sf_granule_column_numbers(c, SF_BLOCK_START, c->n_rows, &deltas);

    if (err)
        return err;
    tmp = *c->req;
    inner.req = &tmp;
    err = sf_granule_column_numbers(&inner, SF_BLOCK_TRACE_START, n, &trace_deltas);
    if (err)
        return err;
    if (!deltas || !trace_deltas)
        return sf_span_block_reader_corrupt(c->r, c->granule, SF_BLOCK_START, c->why);
    /* The array belongs to this function: overwrite it with the sums. */
    starts = (uint64_t *)(uintptr_t)deltas;
    for (uint32_t t = 0; t < n; t++) {
        start += trace_deltas[t];
        for (uint32_t i = 0; i < trace_rows[t]; i++)
            starts[row++] += start;
    }
    *out = starts;
    return SF_OK;
}

enum sf_err sf_granule_ends(struct sf_granule_ctx *c, struct sf_span_rows *out)
{
    const uint64_t *durations;
    uint64_t *ends;
    enum sf_err err = sf_granule_column_numbers(c, SF_BLOCK_DURATION, c->n_rows, &durations);

    if (err)
        return err;
    if (!durations)
        return sf_span_block_reader_corrupt(c->r, c->granule, SF_BLOCK_DURATION, c->why);
    ends = (uint64_t *)(uintptr_t)durations;
    for (uint32_t i = 0; i < c->n_rows; i++)
        ends[i] += out->start_ns[i];
    out->end_ns = ends;
    return SF_OK;
}

enum sf_err sf_granule_kinds(struct sf_granule_ctx *c, struct sf_span_rows *out)
{
    uint8_t *kinds = sf_arena_raw(c->req, c->n_rows, 16);
    uint8_t *statuses = sf_arena_raw(c->req, c->n_rows, 16);
    struct sf_arena tmp;
    struct sf_granule_ctx inner = *c;
    struct sf_chunk_desc d[2];
    const uint32_t *codes, *high = NULL;
    enum sf_err err;

    if (!kinds || !statuses)
        return sf_span_block_reader_limit(c->why);
    tmp = *c->req;
    inner.req = &tmp;
    err = sf_granule_column_u32s(&inner, SF_BLOCK_KIND, c->n_rows, UINT8_MAX, &codes);
    if (!err && sf_span_block_reader_descs(c->r, c->granule, SF_BLOCK_STATUS, d))
        err = sf_granule_column_u32s(&inner, SF_BLOCK_STATUS, c->n_rows, UINT8_MAX, &high);
    if (err)
        return err;
    for (uint32_t i = 0; i < c->n_rows; i++) {
        kinds[i] = (uint8_t)(high ? codes[i] : codes[i] & 15);
        statuses[i] = (uint8_t)(high ? high[i] : codes[i] >> 4);
    }
    out->kind = kinds;
    out->status = statuses;
    return SF_OK;
}

enum sf_err sf_granule_codes(struct sf_granule_ctx *c, uint32_t columns, struct sf_span_rows *out)
{
    const struct sf_span_block_reader *r = c->r;
    enum sf_err err = SF_OK;

    if (r->n_resources == 0 || r->n_scopes == 0)
        return sf_span_block_reader_corrupt(r, c->granule, SF_BLOCK_RESOURCE, c->why);
    if (columns & SF_COL_RESOURCE)
        err = sf_granule_column_u32s(c, SF_BLOCK_RESOURCE, c->n_rows, r->n_resources - 1,
                                     &out->resource);
    if (!err && columns & SF_COL_SCOPE)
        err = sf_granule_column_u32s(c, SF_BLOCK_SCOPE, c->n_rows, r->n_scopes - 1, &out->scope);
    return err;
}
