/* granule_carry.c - copies a stored granule from one block into another without decoding its rows.
 *
 * Chunks depend on the block around them in three ways only: indexes of resources, indexes of
 * scopes, and the numbers of keys, in shapes and as column numbers. These are rewritten; everything
 * else is copied with its checksum and its value hashes. The tables of the new block need
 * statistics of the granule: for them names, durations, codes and dictionaries are decoded, and
 * counted as the writer counts what it encodes. This saves looking up every value twice, encoding
 * and compressing.
 *
 * Small granules are not copied, since they would stay small for ever. Neither is one with spans
 * that end in the future: its `ts_max` was limited by the clock of its block. */
#include "block/span/granule_carry.h"

#include <stdlib.h>

#include "base/time_unit.h"
#include "block/format/encoding.h"
#include "block/span/reader.h"
#include "block/span/writer.h"

enum {
    LARGE_LEN = 1 << 20, /* stored bytes from which it is large enough, however few rows it has */
    /* Up to this many, they are counted with a dictionary. */
    FEW_TEXTS = SF_BLOCK_MAX_TOP + SF_BLOCK_MAX_TOP / 3,
    COUNTERS = 1 << 16,
};

void sf_granule_carry_tables(const struct sf_span_block_reader *r, uint32_t *out_n_resources,
                             uint32_t *out_n_scopes, uint32_t *out_n_keys)
{
    *out_n_resources = r->n_resources;
    *out_n_scopes = r->n_scopes;
    *out_n_keys = r->n_typed;
}

bool sf_granule_carry_fits(uint64_t n_keys)
{
    return n_keys <= SF_WRITER_MAX_KEYS;
}

static bool has_overflow(const struct sf_span_block_reader *r)
{
    for (uint32_t k = 0; k < r->n_typed; k++) {
        if (r->typed[k].type == SF_VALUE_NONE)
            return true;
    }
    return false;
}

bool sf_granule_carry_can(const struct sf_span_block_reader *r, uint32_t granule, uint32_t min_rows)
{
    const struct sf_granule_info *g = &r->granules[granule];
    const struct sf_granule_place *p = &r->places[granule];
    int64_t limit = sf_add_sat_i64(r->info.created_ns, SF_NS_PER_HOUR);
    struct sf_chunk_desc d[2];
    uint64_t len = 0;

    if (!r->sections[SF_SECTION_AFLT].id) /* a part in memory: its chunks are not compressed */
        return false;
    if (r->info.format < SF_SPAN_BLOCK_CARRIED || g->is_continuation || r->info.created_ns <= 0 ||
        g->ts_max_ns >= limit || has_overflow(r))
        return false;
    if (sf_span_block_reader_descs(r, granule, SF_BLOCK_RESOURCE, d) != 1 ||
        sf_span_block_reader_descs(r, granule, SF_BLOCK_SCOPE, d) != 1)
        return false;
    for (uint32_t i = 0; g->n_rows < min_rows && i < p->n_chunks; i++)
        len += sf_span_block_reader_desc(r, p->first_chunk + i).stored_len;
    return g->n_rows >= min_rows || len >= LARGE_LEN;
}

struct carry {
    struct sf_span_block_writer *w;
    struct sf_granule_ctx *from;
    const struct sf_block_codes *codes;
    const uint32_t *resources, *scopes; /* by row: codes of the new block */
    bool has_same_resources, has_same_scopes;
    struct sf_shape_column shapes[3]; /* of spans, events, links */
    uint32_t *shape_rows[3];
};

static const struct {
    uint8_t column, scope;
} SHAPES[3] = {{SF_BLOCK_SHAPE, SF_SCOPE_SPAN},
               {SF_BLOCK_EVENT_SHAPE, SF_SCOPE_EVENT},
               {SF_BLOCK_LINK_SHAPE, SF_SCOPE_LINK}};

/* ---- codes ---- */

static enum sf_err map_resource(struct carry *c, uint32_t place, uint32_t *out)
{
    uint32_t *code = &c->codes->resources[place];
    enum sf_err err = SF_OK;

    if (c->from->r->resource_tenants[place] != c->from->tenant)
        return sf_span_block_reader_corrupt(c->from->r, c->from->granule, SF_BLOCK_RESOURCE,
                                            c->from->why);
    if (*code == SF_NONE)
        err = sf_span_block_writer_resource(c->w, c->from->tenant, &c->from->r->resources[place],
                                            code, c->from->why);
    *out = *code;
    return err;
}

static enum sf_err map_scope(struct carry *c, uint32_t place, uint32_t *out)
{
    uint32_t *code = &c->codes->scopes[place];
    enum sf_err err = SF_OK;

    if (*code == SF_NONE)
        err = sf_span_block_writer_scope(c->w, c->from->tenant, &c->from->r->scopes[place], code,
                                         c->from->why);
    *out = *code;
    return err;
}

static enum sf_err map_rows(struct carry *c)
{
    struct sf_granule_ctx *from = c->from;
    uint32_t n = from->n_rows;
    uint32_t *resources = sf_arena_raw(from->req, (size_t)n * sizeof(*resources), 16);
    uint32_t *scopes = sf_arena_raw(from->req, (size_t)n * sizeof(*scopes), 16);
    struct sf_span_rows rows = {0};
    enum sf_err err;

    if (!resources || !scopes)
        return sf_span_block_reader_limit(from->why);
    err = sf_granule_codes(from, SF_COL_RESOURCE | SF_COL_SCOPE, &rows);
    c->has_same_resources = c->has_same_scopes = true;
    for (uint32_t i = 0; !err && i < n; i++) {
        bool is_next = i && rows.resource[i] == rows.resource[i - 1] &&
                       rows.scope[i] == rows.scope[i - 1];
        if (is_next) {
            resources[i] = resources[i - 1];
            scopes[i] = scopes[i - 1];
        } else {
            err = map_resource(c, rows.resource[i], &resources[i]);
            if (!err)
                err = map_scope(c, rows.scope[i], &scopes[i]);
            if (err)
                break;
            c->has_same_resources &= resources[i] == rows.resource[i];
            c->has_same_scopes &= scopes[i] == rows.scope[i];
        }
        c->w->resource_stages[resources[i]].n_spans++;
        c->w->scope_stages[scopes[i]].n_spans++;
    }
    c->resources = resources;
    c->scopes = scopes;
    return err;
}

static enum sf_err map_key(struct carry *c, uint32_t key)
{
    const struct sf_typed_key *k = &c->from->r->typed[key];
    uint32_t *code = &c->codes->keys[key];
    enum sf_err err;

    if (*code != SF_NONE)
        return SF_OK;
    err = sf_key_stage_get(c->w, k->tenant, k->scope, k->type, k->name, code);
    if (err)
        sf_span_block_writer_fail(c->w, err);
    else
        SF_ASSERT(c->w->keys[*code].type == k->type); /* ensured by sf_granule_carry_fits() */
    return err;
}

/* Counts the rows of each shape. */
static enum sf_err granule_carry_count_rows(struct carry *c, const struct sf_shape_column *s,
                                            uint32_t **out)
{
    uint32_t *rows = sf_arena_new_n(c->from->req, s->n_shapes + (size_t)1, sizeof(*rows));

    if (!rows)
        return sf_span_block_reader_limit(c->from->why);
    if (!s->code)
        rows[0] = s->n_items;
    for (uint32_t i = 0; s->code && i < s->n_items; i++)
        rows[s->code[i]]++;
    *out = rows;
    return SF_OK;
}

/* Sum of a column of counts; 0 if the column is missing. */
static enum sf_err sum_items(struct carry *c, uint32_t column, uint32_t *out)
{
    struct sf_arena tmp = *c->from->req;
    struct sf_granule_ctx inner = *c->from;
    const uint32_t *counts;
    uint64_t sum = 0;
    enum sf_err err;

    inner.req = &tmp;
    err = sf_granule_column_u32s(&inner, column, c->from->n_rows, UINT32_MAX, &counts);
    for (uint32_t i = 0; !err && i < c->from->n_rows; i++)
        sum += counts[i];
    if (sum > UINT32_MAX / 2)
        return sf_span_block_reader_corrupt(c->from->r, c->from->granule, column, c->from->why);
    *out = (uint32_t)sum;
    return err;
}

static enum sf_err map_shapes(struct carry *c)
{
    uint32_t n_items[3] = {c->from->n_rows, 0, 0};
    enum sf_err err = sum_items(c, SF_BLOCK_EVENTS, &n_items[1]);

    if (!err)
        err = sum_items(c, SF_BLOCK_LINKS, &n_items[2]);
    for (int i = 0; !err && i < 3; i++) {
        struct sf_shape_column *s = &c->shapes[i];
        uint32_t n_keys;
        err = sf_granule_column_shapes(c->from, SHAPES[i].column, SHAPES[i].scope, n_items[i], s);
        n_keys = !err && s->n_shapes ? s->ends[s->n_shapes - 1] : 0;
        for (uint32_t k = 0; !err && k < n_keys; k++)
            err = map_key(c, s->keys[k]);
        if (!err)
            err = granule_carry_count_rows(c, s, &c->shape_rows[i]);
    }
    return err;
}

/* ---- chunks ---- */

static enum sf_err copy_chunk(struct carry *c, uint32_t chunk, uint16_t column)
{
    const struct sf_span_block_reader *r = c->from->r;
    struct sf_span_block_writer *w = c->w;
    struct sf_arena tmp = *c->from->req;
    struct sf_chunk_desc d = sf_span_block_reader_desc(r, chunk);
    uint32_t n_hashes = sf_span_block_reader_n_hashes(&d);
    const uint8_t *p;
    enum sf_err err = sf_span_block_reader_bytes(r, d.off, d.stored_len, &tmp, &p, c->from->why);

    if (!err && (uint32_t)sf_hash(p, d.stored_len) != d.checksum)
        err = sf_span_block_reader_corrupt(r, c->from->granule, d.column, c->from->why);
    if (err)
        return err;
    d.off = w->out_off + w->out.len;
    d.column = column;
    sf_buf_add(&w->out, p, d.stored_len);
    sf_chunk_desc_encode(&w->descs, &d);
    if (n_hashes)
        sf_buf_add(&w->hashes, r->hashes + (size_t)r->hash_places[chunk] * 4, (size_t)n_hashes * 4);
    w->n_chunks_here++;
    w->n_hashes_here += n_hashes;
    if (!sf_buf_ok(&w->out) || !sf_buf_ok(&w->descs) || !sf_buf_ok(&w->hashes))
        sf_span_block_writer_fail(w, w->out.err ? w->out.err : SF_ERR_NOMEM);
    return w->err;
}

static enum sf_err write_shapes(struct carry *c, uint16_t column, const struct sf_shape_column *s)
{
    struct sf_span_block_writer *w = c->w;
    uint32_t n_keys = s->ends[s->n_shapes - 1];
    struct sf_arena tmp = *c->from->req;
    uint64_t *lens = sf_arena_raw(&tmp, (size_t)s->n_shapes * sizeof(*lens), 16);
    uint64_t *keys = sf_arena_raw(&tmp, ((size_t)n_keys + 1) * sizeof(*keys), 16);
    const uint32_t *rows = NULL;

    if (!lens || !keys)
        return sf_span_block_reader_limit(c->from->why);
    for (uint32_t i = 0; i < s->n_shapes; i++)
        lens[i] = s->ends[i] - sf_shape_start(s, i);
    for (uint32_t i = 0; i < n_keys; i++)
        keys[i] = c->codes->keys[s->keys[i]];
    for (int i = 0; i < 3; i++)
        rows = s == &c->shapes[i] ? c->shape_rows[i] : rows;
    sf_granule_count_shapes(w, lens, keys, rows, s->n_shapes);
    sf_granule_encode_shapes(w, column, lens, s->n_shapes, keys, n_keys);
    return w->err;
}

/* Writes a column of the span itself. */
static enum sf_err write_chunk(struct carry *c, const struct sf_chunk_desc *d, uint32_t chunk)
{
    bool is_shape = d->encoding == SF_ENC_SHAPE;
    uint32_t n = c->from->n_rows;

    for (int i = 0; is_shape && i < 3; i++) {
        if (d->column == SHAPES[i].column && c->shapes[i].n_shapes)
            return write_shapes(c, d->column, &c->shapes[i]);
    }
    if (d->column == SF_BLOCK_RESOURCE && !c->has_same_resources)
        return sf_granule_encode_u32s(c->w, d->column, c->resources, n) ? SF_OK : c->w->err;
    if (d->column == SF_BLOCK_SCOPE && !c->has_same_scopes)
        return sf_granule_encode_u32s(c->w, d->column, c->scopes, n) ? SF_OK : c->w->err;
    return copy_chunk(c, chunk, d->column);
}

struct key_chunk {
    uint32_t key, chunk;
};

static int granule_carry_by_key(const void *a, const void *b)
{
    const struct key_chunk *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

static enum sf_err granule_carry_write_chunks(struct carry *c)
{
    const struct sf_span_block_reader *r = c->from->r;
    const struct sf_granule_place *p = &r->places[c->from->granule];
    struct key_chunk *keys = sf_arena_raw(c->from->req, p->n_chunks * sizeof(*keys), 16);
    uint32_t n_keys = 0;
    enum sf_err err = keys ? SF_OK : sf_span_block_reader_limit(c->from->why);

    for (uint32_t i = 0; !err && i < p->n_chunks; i++) {
        struct sf_chunk_desc d = sf_span_block_reader_desc(r, p->first_chunk + i);
        if (d.column < SF_BLOCK_FIRST_KEY) {
            err = write_chunk(c, &d, p->first_chunk + i);
        } else {
            uint32_t key = d.column - SF_BLOCK_FIRST_KEY;
            if (key >= r->n_typed || c->codes->keys[key] == SF_NONE) /* no shape uses it */
                return sf_span_block_reader_corrupt(r, c->from->granule, d.column, c->from->why);
            keys[n_keys++] = (struct key_chunk){c->codes->keys[key], p->first_chunk + i};
        }
    }
    if (n_keys)
        qsort(keys, n_keys, sizeof(*keys), granule_carry_by_key);
    for (uint32_t i = 0; !err && i < n_keys; i++)
        err = copy_chunk(c, keys[i].chunk, sf_u16(SF_BLOCK_FIRST_KEY + keys[i].key));
    return err;
}

/* ---- values ---- */

/* The bits of a value as stored in the tables. */
static uint64_t granule_carry_bits_of(const struct sf_value *v)
{
    return v->type == SF_VALUE_BOOL ? v->is_true : v->type == SF_VALUE_EMPTY ? 0 : (uint64_t)v->i64;
}

static bool count_number(struct carry *c, struct sf_key_stage *k, uint64_t bits, uint32_t n)
{
    return n == 0 || sf_key_stage_count_value(c->w, k, (sf_str){(const char *)&bits, 8}, n);
}

static enum sf_err count_numbers(struct carry *c, struct sf_key_stage *k, uint32_t key, uint32_t n)
{
    struct sf_arena tmp = *c->from->req;
    struct sf_granule_ctx inner = *c->from;
    struct sf_values v;
    uint32_t *counts, *codes;
    uint64_t *bits;
    struct sf_few few;
    enum sf_err err;

    inner.req = &tmp;
    err = sf_granule_column_values(&inner, key, n, &v);
    if (err)
        return err;
    counts = sf_arena_new_n(&tmp, v.n_vals, sizeof(*counts));
    bits = sf_arena_raw(&tmp, (size_t)v.n_vals * sizeof(*bits), 16);
    codes = sf_arena_raw(&tmp, (size_t)v.n_vals * sizeof(*codes), 16);
    if (!counts || !bits || !codes)
        return sf_span_block_reader_limit(c->from->why);
    if (!v.code && v.n_vals > 1) {
        for (uint32_t i = 0; i < v.n_vals; i++)
            bits[i] = granule_carry_bits_of(&v.vals[i]);
        if (!sf_granule_count_find_few(&few, bits, v.n_vals, codes))
            return sf_span_block_reader_corrupt(c->from->r, c->from->granule,
                                                SF_BLOCK_FIRST_KEY + key, c->from->why);
        for (uint32_t i = 0; i < few.n; i++) {
            if (!count_number(c, k, few.vals[i], few.counts[i]))
                return c->w->err;
        }
        return SF_OK;
    }
    for (uint32_t i = 0; v.code && i < n; i++)
        counts[v.code[i]]++;
    if (!v.code)
        counts[0] = n;
    for (uint32_t i = 0; i < v.n_vals; i++) {
        if (!count_number(c, k, granule_carry_bits_of(&v.vals[i]), counts[i]))
            return c->w->err;
    }
    return SF_OK;
}

/* Finds frequent values among texts that are stored one by one and nearly all distinct.
 * Approximate counters, shared by several texts, never undercount; texts that they select are
 * counted exactly. */
static enum sf_err count_repeated(struct carry *c, struct sf_key_stage *k,
                                  const struct sf_text_list *texts, const uint64_t *hashes,
                                  struct sf_arena tmp)
{
    struct sf_span_block_writer *w = c->w;
    uint32_t n = texts->n, least = sf_granule_count_key_least(k, n, n), code;
    uint32_t *counts = sf_arena_new_n(&tmp, n, sizeof(*counts));
    uint16_t *shared = sf_arena_new_n(&tmp, COUNTERS, sizeof(*shared));

    if (!counts || !shared)
        return sf_span_block_reader_limit(c->from->why);
    for (uint32_t i = 0; i < n; i++) {
        uint16_t *s = &shared[hashes[i] % COUNTERS];
        *s = (uint16_t)(*s + (*s < UINT16_MAX));
    }
    sf_dict_reset(&w->spare);
    for (uint32_t i = 0; i < n; i++) {
        if (shared[hashes[i] % COUNTERS] < least)
            continue;
        if (!sf_dict_add(&w->spare, texts->list[i], &code)) {
            sf_span_block_writer_fail(w, SF_ERR_NOMEM);
            return w->err;
        }
        counts[code]++;
    }
    for (uint32_t i = 0; i < w->spare.n; i++) {
        if (counts[i] >= least &&
            !sf_key_stage_count_value(w, k, sf_dict_get(&w->spare, i), counts[i]))
            return w->err;
    }
    return SF_OK;
}

/* Few texts stored one by one: counted with a dictionary, as the writer did. */
static enum sf_err count_few(struct carry *c, struct sf_key_stage *k,
                             const struct sf_text_list *texts, struct sf_arena tmp)
{
    struct sf_span_block_writer *w = c->w;
    uint32_t *codes = sf_arena_raw(&tmp, (size_t)texts->n * sizeof(*codes), 16);
    struct sf_text_list distinct = {.dict = &w->spare};

    if (!codes)
        return sf_span_block_reader_limit(c->from->why);
    sf_dict_reset(&w->spare);
    for (uint32_t i = 0; i < texts->n; i++) {
        if (!sf_dict_add(&w->spare, texts->list[i], &codes[i])) {
            sf_span_block_writer_fail(w, SF_ERR_NOMEM);
            return w->err;
        }
    }
    distinct.n = w->spare.n;
    return sf_granule_count_texts(w, k, &distinct, codes, texts->n) ? SF_OK : w->err;
}

static enum sf_err count_list(struct carry *c, struct sf_key_stage *k,
                              const struct sf_text_list *texts, uint64_t filter,
                              struct sf_arena tmp)
{
    uint64_t *hashes = sf_arena_raw(&tmp, (size_t)texts->n * sizeof(*hashes), 16);
    enum sf_err err;

    if (!hashes)
        return sf_span_block_reader_limit(c->from->why);
    for (uint32_t i = 0; i < texts->n; i++)
        hashes[i] = sf_hash_str(texts->list[i]);
    err = texts->n > FEW_TEXTS ? count_repeated(c, k, texts, hashes, tmp)
                               : count_few(c, k, texts, tmp);
    if (!err && filter && !sf_filter_stage_add_all(&c->w->attr_hashes, filter, texts, hashes))
        sf_span_block_writer_fail(c->w, SF_ERR_NOMEM);
    return err ? err : c->w->err;
}

/* `filter`: identifies the column in the filter of values; 0: it is not in the filter. */
static enum sf_err count_texts(struct carry *c, struct sf_key_stage *k, uint32_t column, uint32_t n,
                               bool is_list, uint64_t filter)
{
    struct sf_arena tmp = *c->from->req;
    struct sf_granule_ctx inner = *c->from;
    struct sf_str_column col;
    struct sf_text_list texts;
    enum sf_err err;

    inner.req = &tmp;
    err = sf_granule_column_texts(&inner, column, n, &col);
    if (err)
        return err;
    texts = (struct sf_text_list){.list = col.dict, .n = col.n_dict};
    if (is_list && k)
        return count_list(c, k, &texts, filter, tmp);
    if (k && !sf_granule_count_texts(c->w, k, &texts, col.code, n))
        return c->w->err;
    if (filter && !sf_filter_stage_add_all(&c->w->attr_hashes, filter, &texts, NULL))
        sf_span_block_writer_fail(c->w, SF_ERR_NOMEM);
    return c->w->err;
}

static enum sf_err count_key(struct carry *c, uint32_t key, uint32_t n)
{
    const struct sf_typed_key *from = &c->from->r->typed[key];
    struct sf_key_stage *k = &c->w->keys[c->codes->keys[key]];
    struct sf_chunk_desc d[2];
    uint32_t column = SF_BLOCK_FIRST_KEY + key;
    unsigned n_descs = sf_span_block_reader_descs(c->from->r, c->from->granule, column, d);
    bool has_hashes;

    if (n_descs == 0 || d[0].n_values != n)
        return sf_span_block_reader_corrupt(c->from->r, c->from->granule, column, c->from->why);
    has_hashes = sf_span_block_reader_n_hashes(&d[n_descs - 1]);
    if (sf_block_type_is_text(from->type))
        return count_texts(c, k, column, n, n_descs == 1 && d[0].encoding != SF_ENC_CONST,
                           from->type == SF_VALUE_STR && !has_hashes ? k->hash : 0);
    if (has_hashes)
        return count_numbers(c, k, key, n);
    k->is_partial = true; /* too many to count */
    return SF_OK;
}

static enum sf_err granule_carry_count_keys(struct carry *c)
{
    enum sf_err err = SF_OK;

    for (int i = 0; !err && i < 3; i++) {
        uint32_t *counts;
        err = sf_granule_column_count_shapes(c->from, &c->shapes[i], c->from->req, &counts);
        for (uint32_t k = 0; !err && k < c->from->r->n_typed; k++) {
            if (counts[k])
                err = count_key(c, k, counts[k]);
        }
    }
    return err;
}

/* Adds span names and messages to the filter if there are many. */
static enum sf_err filter_texts(struct carry *c, uint32_t column, sf_str name)
{
    struct sf_chunk_desc d[2];
    unsigned n = sf_span_block_reader_descs(c->from->r, c->from->granule, column, d);

    if (n == 0 || sf_span_block_reader_n_hashes(&d[n - 1]))
        return SF_OK;
    return count_texts(c, NULL, column, c->from->n_rows, false,
                       sf_block_key_hash(c->from->tenant, SF_SCOPE_INTRINSIC, SF_VALUE_STR, name));
}

/* ---- rows ---- */

static enum sf_err count_ids(struct carry *c)
{
    struct sf_arena tmp = *c->from->req;
    struct sf_granule_ctx inner = *c->from;
    uint32_t n_traces = c->from->r->granules[c->from->granule].n_traces;
    const uint8_t *traces;
    enum sf_err err;

    inner.req = &tmp;
    err = sf_granule_column_fixed(&inner, SF_BLOCK_TRACE_ID, SF_ENC_FIX16, n_traces, &traces);
    if (err)
        return err;
    sf_granule_count_hash_traces(c->w, c->from->tenant, (const sf_trace_id *)(const void *)traces,
                                 n_traces);
    return c->w->err;
}

static enum sf_err count_calls(struct carry *c)
{
    struct sf_arena tmp = *c->from->req;
    struct sf_granule_ctx inner = *c->from;
    uint32_t n = c->from->n_rows;
    struct sf_call_columns calls = {
        .tenant = c->from->tenant, .n_rows = n, .resource = c->resources};
    struct sf_str_column names;
    struct sf_span_rows rows = {0};
    struct sf_chunk_desc d[2];
    const uint32_t *trace_rows;
    uint64_t high = 0;
    enum sf_err err;

    inner.req = &tmp;
    err = sf_granule_column_texts(&inner, SF_BLOCK_NAME, n, &names);
    if (!err)
        err = sf_granule_column_numbers(&inner, SF_BLOCK_DURATION, n, &calls.duration_ns);
    if (!err && !calls.duration_ns)
        err = sf_span_block_reader_corrupt(c->from->r, c->from->granule, SF_BLOCK_DURATION,
                                           c->from->why);
    if (!err)
        err = sf_granule_kinds(&inner, &rows);
    if (!err)
        err = sf_granule_column_fixed(&inner, SF_BLOCK_PARENT, SF_ENC_CODE8, n, &calls.parent);
    if (!err)
        err = sf_granule_column_u32s(&inner, SF_BLOCK_FLAGS, n, UINT32_MAX, &calls.flags);
    for (uint32_t i = 0; !err && i < n; i++)
        high |= calls.duration_ns[i];
    if (!err && (high > (uint64_t)INT64_MAX ||
                 sf_span_block_reader_descs(c->from->r, c->from->granule, SF_BLOCK_INDEX, d))) {
        /* wrong clocks: some spans end before they start */
        err = sf_granule_trace_rows(&inner, &trace_rows);
        if (!err)
            err = sf_granule_starts(&inner, trace_rows, &calls.start_ns);
    }
    if (err)
        return err;
    calls.names = (struct sf_text_list){.list = names.dict, .n = names.n_dict};
    calls.name = names.code;
    calls.kind = rows.kind;
    calls.status = rows.status;
    return sf_granule_count_calls(c->w, &calls) ? SF_OK : c->w->err;
}

enum sf_err sf_granule_carry(struct sf_span_block_writer *w, const struct sf_span_block_reader *r,
                             uint32_t granule, const struct sf_block_codes *codes,
                             struct sf_arena scratch, struct sf_why *why)
{
    struct sf_granule_info info = r->granules[granule];
    struct sf_granule_ctx from = {.r = r,
                                  .granule = granule,
                                  .n_rows = info.n_rows,
                                  .tenant = info.tenant,
                                  .req = &scratch,
                                  .why = why};
    struct carry c = {.w = w, .from = &from, .codes = codes};
    enum sf_err err = map_rows(&c);

    if (!err)
        err = map_shapes(&c);
    if (!err && !sf_granule_encode_begin(w, info.n_rows))
        err = w->err;
    if (!err)
        err = count_ids(&c);
    if (!err && !sf_granule_count_add_runs(w, c.resources, info.n_rows))
        err = w->err;
    if (!err)
        err = count_calls(&c);
    if (!err)
        err = filter_texts(&c, SF_BLOCK_NAME, SF_STR("name"));
    if (!err)
        err = filter_texts(&c, SF_BLOCK_STATUS_MSG, SF_STR("statusMessage"));
    if (!err)
        err = granule_carry_write_chunks(&c);
    if (!err)
        err = granule_carry_count_keys(&c);
    if (!err && !sf_granule_encode_end(w, &info))
        err = w->err;
    return err;
}
