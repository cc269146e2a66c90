/* granule_want.c - reads single attributes of all rows, without reading other attributes. */
#include "block/span/reader.h"

enum { MAX_VARIANTS = SF_VALUE_TYPES + 1 }; /* a name has at most one column per type */

struct variants { /* the columns that can hold one attribute */
    uint32_t keys[MAX_VARIANTS];
    struct sf_values vals[MAX_VARIANTS];
    uint32_t base[MAX_VARIANTS]; /* index of its first value in the joined list */
    uint32_t at[MAX_VARIANTS];   /* next occurrence */
    uint32_t n;
};

static void find_variants(const struct sf_granule_ctx *c, uint8_t scope, sf_str name,
                          struct variants *v)
{
    uint32_t first, n;

    v->n = 0;
    sf_table_decode_find_keys(c->r, c->tenant, scope, name, &first, &n);
    for (uint32_t i = 0; i < n && v->n < MAX_VARIANTS; i++) {
        if (c->r->typed[c->r->by_name[first + i]].type != SF_VALUE_NONE)
            v->keys[v->n++] = c->r->by_name[first + i];
    }
    sf_table_decode_find_keys(c->r, c->tenant, scope, SF_STR_NONE, &first, &n);
    for (uint32_t i = 0; i < n && v->n < MAX_VARIANTS; i++) {
        if (c->r->typed[c->r->by_name[first + i]].type == SF_VALUE_NONE)
            v->keys[v->n++] = c->r->by_name[first + i];
    }
}

static enum sf_err read_variants(struct sf_granule_ctx *c, const uint32_t *counts,
                                 struct variants *v, uint32_t *out_n_vals)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        enum sf_err err = sf_granule_column_values(c, v->keys[i], counts[v->keys[i]], &v->vals[i]);
        if (err)
            return err;
        v->base[i] = sum;
        v->at[i] = 0;
        sum += v->vals[i].n_vals;
    }
    *out_n_vals = sum;
    return SF_OK;
}

/* Finds the rows of events or links: which row does item i belong to? */
static enum sf_err read_owners(struct sf_granule_ctx *c, uint8_t scope, uint32_t *out_n,
                               const uint32_t **out)
{
    uint32_t column = scope == SF_SCOPE_EVENT ? SF_BLOCK_EVENTS : SF_BLOCK_LINKS, at = 0;
    const uint32_t *counts;
    uint32_t *owners;
    uint64_t sum = 0;
    enum sf_err err = sf_granule_column_u32s(c, column, c->n_rows, UINT32_MAX, &counts);

    if (err)
        return err;
    for (uint32_t i = 0; i < c->n_rows; i++)
        sum += counts[i];
    if (sum > 1u << 30)
        return sf_span_block_reader_corrupt(c->r, c->granule, column, c->why);
    owners = sf_arena_raw(c->req, (size_t)sum * sizeof(*owners), 16);
    if (!owners)
        return sf_span_block_reader_limit(c->why);
    for (uint32_t row = 0; row < c->n_rows; row++) {
        for (uint32_t i = 0; i < counts[row]; i++)
            owners[at++] = row;
    }
    *out = owners;
    *out_n = at;
    return SF_OK;
}

/* For each shape, the variants it contains, in order: usually none or one. */
struct hits {
    uint32_t *ends;
    uint8_t *variant;
    bool is_single; /* all belong to one variant, and no shape has two */
    uint32_t *none; /* then: 0 for shapes that have it, SF_NONE for the others */
};

static bool find_hits(const struct sf_shape_column *s, const struct variants *v,
                      struct sf_arena *tmp, struct hits *out)
{
    uint32_t n_keys = s->n_shapes ? s->ends[s->n_shapes - 1] : 0, n = 0, at = 0;

    out->ends = sf_arena_raw(tmp, (size_t)s->n_shapes * sizeof(*out->ends), 16);
    out->variant = sf_arena_raw(tmp, n_keys, 1);
    out->none = sf_arena_raw(tmp, (size_t)s->n_shapes * sizeof(*out->none), 16);
    if (!out->ends || !out->variant || !out->none)
        return false;
    out->is_single = true;
    for (uint32_t shape = 0; shape < s->n_shapes; shape++) {
        uint32_t first = n;
        for (; at < s->ends[shape]; at++) {
            for (uint32_t i = 0; i < v->n; i++) {
                if (s->keys[at] == v->keys[i])
                    out->variant[n++] = (uint8_t)i;
            }
        }
        out->ends[shape] = n;
        out->none[shape] = n - first - 1;
        out->is_single = out->is_single && n - first <= 1 &&
                         (n == 0 || out->variant[n - 1] == out->variant[0]);
    }
    out->is_single = out->is_single && n > 0 && !v->vals[out->variant[0]].packed;
    return true;
}

/* Branch-free: which rows have the attribute is unpredictable. */
static void put_single(const struct sf_shape_column *s, const struct hits *h,
                       const struct variants *v, uint32_t *codes)
{
    const struct sf_values *vals = &v->vals[h->variant[0]];
    uint32_t base = v->base[h->variant[0]], last = vals->n - 1, at = 0;
    for (uint32_t i = 0; i < s->n_items; i++) {
        uint32_t is_none = h->none[s->code ? s->code[i] : 0];
        uint32_t place = at < last ? at : last;
        codes[i] = (base + sf_values_at(vals, place)) | is_none;
        at += is_none + 1;
    }
}

static void put_codes(const struct sf_shape_column *s, const struct hits *h, struct variants *v,
                      sf_str name, const uint32_t *owners, uint32_t *codes)
{
    for (uint32_t i = 0; s->n_shapes && i < s->n_items; i++) {
        uint32_t shape = s->code ? s->code[i] : 0, row = owners ? owners[i] : i;
        for (uint32_t k = shape ? h->ends[shape - 1] : 0; k < h->ends[shape]; k++) {
            uint32_t variant = h->variant[k];
            const struct sf_values *vals = &v->vals[variant];
            uint32_t at = sf_values_at(vals, v->at[variant]++);
            if (!vals->packed || sf_str_eq(vals->packed[at].key, name))
                codes[row] = v->base[variant] + at;
        }
    }
}

static enum sf_err join_values(struct sf_granule_ctx *c, const struct variants *v, uint32_t n_vals,
                               const struct sf_value **out)
{
    struct sf_value *all;

    if (v->n == 1 && !v->vals[0].packed) {
        *out = v->vals[0].vals;
        return SF_OK;
    }
    all = sf_arena_raw(c->req, (size_t)n_vals * sizeof(*all), 16);
    if (!all)
        return sf_span_block_reader_limit(c->why);
    for (uint32_t i = 0; i < v->n; i++) {
        for (uint32_t k = 0; k < v->vals[i].n_vals; k++)
            all[v->base[i] + k] = v->vals[i].packed ? v->vals[i].packed[k].val : v->vals[i].vals[k];
    }
    *out = all;
    return SF_OK;
}

static enum sf_err want_columns(struct sf_granule_ctx *c, uint8_t scope, sf_str name,
                                uint32_t *codes, struct sf_value_column *out)
{
    static const uint32_t SHAPES[SF_SCOPES] = {[SF_SCOPE_SPAN] = SF_BLOCK_SHAPE,
                                               [SF_SCOPE_EVENT] = SF_BLOCK_EVENT_SHAPE,
                                               [SF_SCOPE_LINK] = SF_BLOCK_LINK_SHAPE};
    struct sf_shape_column shapes;
    struct variants v;
    struct hits hits = {0};
    const uint32_t *owners = NULL;
    uint32_t *counts, n = c->n_rows, n_vals;
    enum sf_err err = SF_OK;

    find_variants(c, scope, name, &v);
    if (v.n == 0)
        return SF_OK;
    if (scope != SF_SCOPE_SPAN)
        err = read_owners(c, scope, &n, &owners);
    if (!err)
        err = sf_granule_column_shapes(c, SHAPES[scope], scope, n, &shapes);
    if (!err)
        err = sf_granule_column_count_shapes(c, &shapes, c->req, &counts);
    if (!err)
        err = read_variants(c, counts, &v, &n_vals);
    if (!err)
        err = join_values(c, &v, n_vals, &out->vals);
    if (!err && !find_hits(&shapes, &v, c->req, &hits))
        err = sf_span_block_reader_limit(c->why);
    if (err)
        return err;
    if (hits.is_single && !owners)
        put_single(&shapes, &hits, &v, codes);
    else
        put_codes(&shapes, &hits, &v, name, owners, codes);
    out->n_vals = n_vals;
    return SF_OK;
}

/* Attributes of resources and scopes: one value per table entry, found through the row's code. Rows
 * that already have a value keep it. */
static enum sf_err want_table(struct sf_granule_ctx *c, bool is_resource, sf_str name,
                              uint32_t *codes, struct sf_value_column *out)
{
    uint32_t n = is_resource ? c->r->n_resources : c->r->n_scopes;
    const uint32_t *rows;
    struct sf_value *vals;
    enum sf_err err;

    if (n == 0)
        return SF_OK;
    err = sf_granule_column_u32s(c, is_resource ? SF_BLOCK_RESOURCE : SF_BLOCK_SCOPE, c->n_rows,
                                 n - 1, &rows);
    if (err)
        return err;
    vals = sf_arena_raw(c->req, ((size_t)n + out->n_vals) * sizeof(*vals), 16);
    if (!vals)
        return sf_span_block_reader_limit(c->why);
    if (out->n_vals)
        memcpy(vals, out->vals, out->n_vals * sizeof(*vals));
    for (uint32_t i = 0; i < n; i++)
        vals[out->n_vals + i] = sf_attrs_get(
            is_resource ? c->r->resources[i].attrs : c->r->scopes[i].attrs, name);
    for (uint32_t i = 0; i < c->n_rows; i++) {
        if (codes[i] == SF_NONE && vals[out->n_vals + rows[i]].type != SF_VALUE_NONE)
            codes[i] = out->n_vals + rows[i];
    }
    out->vals = vals;
    out->n_vals += n;
    return SF_OK;
}

static enum sf_err want_one(struct sf_granule_ctx *c, const struct sf_key *key,
                            struct sf_value_column *out)
{
    uint32_t *codes = sf_arena_raw(c->req, (size_t)c->n_rows * sizeof(*codes), 16);
    enum sf_err err = SF_OK;

    if (!codes)
        return sf_span_block_reader_limit(c->why);
    memset(codes, 0xff, (size_t)c->n_rows * sizeof(*codes)); /* SF_NONE */
    *out = (struct sf_value_column){.code = codes};
    switch (key->scope) {
    case SF_SCOPE_SPAN:
    case SF_SCOPE_EVENT:
    case SF_SCOPE_LINK: return want_columns(c, (uint8_t)key->scope, key->name, codes, out);
    case SF_SCOPE_RESOURCE: return want_table(c, true, key->name, codes, out);
    case SF_SCOPE_INSTRUMENTATION: return want_table(c, false, key->name, codes, out);
    case SF_SCOPE_ANY:
        err = want_columns(c, SF_SCOPE_SPAN, key->name, codes, out);
        return err ? err : want_table(c, true, key->name, codes, out);
    default: return SF_OK; /* intrinsics are separate columns */
    }
}

enum sf_err sf_granule_want(struct sf_granule_ctx *c, const struct sf_key *keys, size_t n,
                            const struct sf_value_column **out)
{
    struct sf_value_column *columns = sf_arena_new_n(c->req, n, sizeof(*columns));
    enum sf_err err = columns ? SF_OK : sf_span_block_reader_limit(c->why);

    for (size_t i = 0; i < n && !err; i++)
        err = want_one(c, &keys[i], &columns[i]);
    *out = columns;
    return err;
}
