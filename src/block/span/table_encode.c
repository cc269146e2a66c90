/* table_encode.c - encodes the block's tables: strings, resources, scopes, keys, operations,
 * granules. */
#include <stdlib.h>

#include "base/heap.h"
#include "block/format/cursor.h"
#include "block/span/writer.h"

static bool table_encode_add_string(struct sf_span_block_writer *w, sf_str s, struct sf_buf *out)
{
    uint32_t code;
    if (!sf_dict_add(&w->strings, s, &code))
        return false;
    sf_buf_add_varint(out, code);
    return true;
}

static bool table_encode_add_attrs(struct sf_span_block_writer *w, struct sf_attrs attrs,
                                   struct sf_buf *out)
{
    sf_buf_add_varint(out, attrs.n);
    for (uint32_t i = 0; i < attrs.n; i++) {
        const struct sf_attr *a = &attrs.list[i];
        if (!table_encode_add_string(w, a->key, out))
            return false;
        sf_buf_add_u8(out, (uint8_t)a->val.type);
        switch (a->val.type) {
        case SF_VALUE_NONE:
        case SF_VALUE_TYPES: return false;
        case SF_VALUE_EMPTY: break;
        case SF_VALUE_BOOL: sf_buf_add_u8(out, a->val.is_true); break;
        case SF_VALUE_INT:
        case SF_VALUE_DOUBLE: sf_buf_add(out, &a->val.i64, 8); break;
        default:
            if (!table_encode_add_string(w, a->val.str, out))
                return false;
        }
    }
    return sf_buf_ok(out);
}

bool sf_table_encode_resource(struct sf_span_block_writer *w, uint32_t tenant,
                              const struct sf_resource *r, struct sf_buf *out,
                              uint32_t *out_service)
{
    sf_buf_add_varint(out, tenant);
    if (!sf_dict_add(&w->strings, r->service, out_service))
        return false;
    sf_buf_add_varint(out, *out_service);
    if (!table_encode_add_string(w, r->schema_url, out))
        return false;
    sf_buf_add_varint(out, r->dropped_attrs);
    return table_encode_add_attrs(w, r->attrs, out);
}

bool sf_table_encode_scope(struct sf_span_block_writer *w, uint32_t tenant,
                           const struct sf_scope *s, struct sf_buf *out)
{
    sf_buf_add_varint(out, tenant);
    if (!table_encode_add_string(w, s->name, out) || !table_encode_add_string(w, s->version, out) ||
        !table_encode_add_string(w, s->schema_url, out))
        return false;
    sf_buf_add_varint(out, s->dropped_attrs);
    return table_encode_add_attrs(w, s->attrs, out);
}

void sf_table_encode_strings(const struct sf_span_block_writer *w, struct sf_buf *out)
{
    sf_buf_add_u32le(out, w->strings.n);
    for (uint32_t i = 0; i < w->strings.n; i++)
        sf_buf_add_varint(out, sf_dict_get(&w->strings, i).len);
    sf_buf_add(out, w->strings.bytes.p, w->strings.bytes.len);
}

void sf_table_encode_records(const struct sf_dict *records, struct sf_buf *out)
{
    sf_buf_add_u32le(out, records->n);
    sf_buf_add(out, records->bytes.p, records->bytes.len);
}

/* ---- keys ---- */

/* Attributes of resources and scopes have no columns; their keys are counted from the tables. */
static bool count_table_attr(struct sf_span_block_writer *w, uint32_t tenant, uint8_t scope,
                             struct sf_cursor *c, uint64_t n_spans)
{
    uint32_t name = sf_cursor_varint32(c), key, count;
    uint8_t type = sf_cursor_u8(c);
    struct sf_key_stage *k;
    struct sf_buf copy = {0};
    uint8_t bits[8] = {0};
    sf_str bytes = {(const char *)bits, 8};
    bool is_ok;
    enum sf_err err;

    if (type == SF_VALUE_BOOL)
        bits[0] = sf_cursor_u8(c);
    else if (type == SF_VALUE_INT || type == SF_VALUE_DOUBLE)
        sf_store_u64le(bits, sf_cursor_u64(c));
    else if (type != SF_VALUE_EMPTY)
        bytes = sf_dict_get(&w->strings, sf_cursor_varint32(c));
    if (n_spans == 0)
        return true; /* interned, but not used by a row of this block */
    /* Adding a key may move the strings: use a copy of the name. */
    sf_buf_add_str(&copy, sf_dict_get(&w->strings, name));
    err = sf_buf_ok(&copy) ? sf_key_stage_get(w, tenant, scope, type, sf_buf_str(&copy), &key)
                           : SF_ERR_NOMEM;
    sf_buf_done(&copy);
    if (err)
        return sf_span_block_writer_fail(w, err);
    k = &w->keys[key];
    k->n_spans += n_spans;
    if (k->type == SF_VALUE_NONE)
        return true;
    count = n_spans > UINT32_MAX ? UINT32_MAX : (uint32_t)n_spans;
    is_ok = sf_key_stage_count_value(w, k, bytes, count);
    return is_ok;
}

static bool table_encode_count_table(struct sf_span_block_writer *w, uint8_t scope,
                                     const struct sf_dict *records,
                                     const struct sf_resource_stage *stages)
{
    for (uint32_t i = 0; i < records->n; i++) {
        struct sf_cursor c = sf_cursor_of(sf_str_bytes(sf_dict_get(records, i)));
        uint32_t tenant = sf_cursor_varint32(&c), n;
        for (int skip = scope == SF_SCOPE_RESOURCE ? 3 : 4; skip > 0; skip--)
            sf_cursor_varint(&c);
        n = sf_cursor_varint32(&c);
        for (uint32_t a = 0; a < n; a++) {
            if (!count_table_attr(w, tenant, scope, &c, stages[i].n_spans))
                return false;
        }
    }
    return true;
}

static int table_encode_cmp_count(const void *a, const void *b, void *arg)
{
    const uint32_t *counts = arg;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (counts[i] != counts[j])
        return counts[i] < counts[j] ? 1 : -1;
    return (i > j) - (i < j);
}

static bool encode_top(const struct sf_key_stage *k, struct sf_buf *out)
{
    uint32_t n = k->top.n, *order = sf_heap_new_n(n, sizeof(*order));
    bool is_partial = k->is_partial || n > SF_BLOCK_MAX_TOP;

    if (!order)
        return false;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof(*order), table_encode_cmp_count, k->top_counts);
    if (n > SF_BLOCK_MAX_TOP)
        n = SF_BLOCK_MAX_TOP;
    /* An incomplete list is only a hint; it must not be larger than the column it describes. */
    if (is_partial && n > 16 + k->n_spans / 256)
        n = (uint32_t)(16 + k->n_spans / 256);
    sf_buf_add_u8(out, !is_partial);
    sf_buf_add_varint(out, n);
    for (uint32_t i = 0; i < n; i++) {
        sf_str s = sf_dict_get(&k->top, order[i]);
        sf_buf_add_varint(out, k->top_counts[order[i]]);
        if (sf_block_type_is_text(k->type))
            sf_buf_add_varint(out, s.len);
        sf_buf_add_str(out, s);
    }
    sf_heap_free(order);
    return true;
}

bool sf_table_encode_keys(struct sf_span_block_writer *w, struct sf_buf *out)
{
    if (!table_encode_count_table(w, SF_SCOPE_RESOURCE, &w->resources, w->resource_stages) ||
        !table_encode_count_table(w, SF_SCOPE_INSTRUMENTATION, &w->scopes, w->scope_stages))
        return false;
    sf_buf_add_u32le(out, w->n_keys);
    for (uint32_t i = 0; i < w->n_keys; i++) {
        const struct sf_key_stage *k = &w->keys[i];
        sf_buf_add_varint(out, k->tenant);
        sf_buf_add_u8(out, k->scope);
        sf_buf_add_u8(out, k->type);
        sf_buf_add_varint(out, k->name);
        sf_buf_add_varint(out, k->n_spans);
        if (!encode_top(k, out))
            return sf_span_block_writer_fail(w, SF_ERR_NOMEM);
    }
    return true;
}

/* ---- operations, granules ---- */

static void encode_count(const struct sf_call_count *c, struct sf_buf *out)
{
    uint8_t n_buckets = 0;
    sf_buf_add_varint(out, c->n_spans);
    sf_buf_add_varint(out, c->n_errors);
    sf_buf_add_varint(out, c->sum_ns);
    for (int b = 0; b < SF_SKETCH_BUCKETS; b++)
        n_buckets = (uint8_t)(n_buckets + (c->buckets[b] != 0));
    sf_buf_add_u8(out, n_buckets);
    for (int b = 0; b < SF_SKETCH_BUCKETS; b++) {
        if (c->buckets[b]) {
            sf_buf_add_u8(out, (uint8_t)b);
            sf_buf_add_varint(out, c->buckets[b]);
        }
    }
}

void sf_table_encode_operations(const struct sf_span_block_writer *w, struct sf_buf *out)
{
    sf_buf_add_u32le(out, w->n_ops);
    for (uint32_t i = 0; i < w->n_ops; i++) {
        const struct sf_operation_stage *op = &w->ops[i];
        sf_buf_add_varint(out, op->tenant);
        sf_buf_add_varint(out, op->service);
        sf_buf_add_varint(out, op->name);
        encode_count(&op->all, out);
    }
}

void sf_table_encode_entries(const struct sf_span_block_writer *w, struct sf_buf *out)
{
    sf_buf_add_u32le(out, w->n_entries);
    for (uint32_t i = 0; i < w->n_ops; i++) { /* in the order of the operations */
        if (!w->ops[i].entry_plus_1)
            continue;
        sf_buf_add_varint(out, i);
        encode_count(&w->entries[w->ops[i].entry_plus_1 - 1].count, out);
    }
}

void sf_table_encode_granules(const struct sf_span_block_writer *w, struct sf_buf *out)
{
    sf_buf_add_u32le(out, w->n_granules);
    sf_buf_add_u32le(out, sf_u32(w->descs.len / SF_CHUNK_DESC_LEN));
    sf_buf_add_u32le(out, sf_u32(w->hashes.len / 4));
    sf_buf_add_u32le(out, sf_u32(w->runs.len / 8));
    sf_buf_add(out, w->granules.p, w->granules.len);
    sf_buf_add(out, w->descs.p, w->descs.len);
    sf_buf_add(out, w->hashes.p, w->hashes.len);
    sf_buf_add(out, w->runs.p, w->runs.len);
}
