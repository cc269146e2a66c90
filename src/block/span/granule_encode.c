/* granule_encode.c - the open granule becomes chunks: one per column, described in GRAN. */
#include <stdlib.h>

#include "base/list.h"
#include "block/format/encoding.h"
#include "block/format/planes.h"
#include "block/span/writer.h"

/* A sender that puts ids into span names gets this many operations per block; what comes later is
 * counted under one name per service. */
enum { MAX_OPS = 4096 };
#define OTHER SF_STR("(other operations)")

/* ---- chunks ---- */

/* Where the next chunk's raw bytes go. Without compression that is the block itself. */
static struct sf_buf *begin(struct sf_span_block_writer *w, size_t *out_start)
{
    if (w->packer) {
        sf_buf_reset(&w->raw);
        *out_start = 0;
        return &w->raw;
    }
    *out_start = w->out.len;
    return &w->out;
}

static bool end(struct sf_span_block_writer *w, size_t start, uint16_t column, uint8_t encoding,
                uint32_t n_values, uint32_t cardinality, bool can_pack)
{
    struct sf_chunk_desc d = {
        .column = column, .encoding = encoding, .n_values = n_values, .cardinality = cardinality};
    size_t raw_len;

    if (w->packer) {
        raw_len = w->raw.len;
        start = w->out.len;
        if (!sf_buf_ok(&w->raw))
            return sf_writer_fail(w, w->raw.err);
        d.codec = sf_pack(can_pack ? w->packer : NULL, &w->out, sf_buf_bytes(&w->raw));
    } else {
        raw_len = w->out.len - start;
    }
    if (!sf_buf_ok(&w->out) || !sf_buf_ok(&w->nums))
        return sf_writer_fail(w, w->out.err ? w->out.err : w->nums.err);
    d.raw_len = sf_u32(raw_len);
    d.stored_len = sf_u32(w->out.len - start);
    d.off = w->out_off + start;
    d.checksum = (uint32_t)sf_hash(w->out.p + start, d.stored_len);
    sf_chunk_desc_encode(&w->descs, &d);
    w->n_chunks_here++;
    return sf_buf_ok(&w->descs) || sf_writer_fail(w, w->descs.err);
}

static bool emit_bytes(struct sf_span_block_writer *w, uint16_t column, uint8_t encoding,
                       uint32_t n_values, uint32_t cardinality, const void *p, size_t len,
                       bool can_pack)
{
    size_t start;
    struct sf_buf *b = begin(w, &start);
    sf_buf_add(b, p, len);
    return end(w, start, column, encoding, n_values, cardinality, can_pack);
}

static bool emit_numbers(struct sf_span_block_writer *w, uint16_t column, const uint64_t *vals,
                         uint32_t n)
{
    size_t start;
    struct sf_buf *b;
    bool is_const = true;

    for (uint32_t i = 1; i < n && is_const; i++)
        is_const = vals[i] == vals[0];
    if (n == 0)
        return true;
    if (is_const)
        return emit_bytes(w, column, SF_ENC_CONST, n, 0, vals, 8, false);
    b = begin(w, &start);
    sf_planes_encode(b, vals, n);
    return end(w, start, column, SF_ENC_PLANES, n, 0, true);
}

static bool emit_u32s(struct sf_span_block_writer *w, uint16_t column, const uint32_t *vals,
                      uint32_t n)
{
    uint64_t *wide;
    sf_buf_reset(&w->nums);
    wide = (uint64_t *)(void *)sf_buf_take(&w->nums, (size_t)n * 8);
    if (!wide)
        return n == 0 || sf_writer_fail(w, w->nums.err);
    for (uint32_t i = 0; i < n; i++)
        wide[i] = vals[i];
    return emit_numbers(w, column, wide, n);
}

static bool emit_codes(struct sf_span_block_writer *w, uint16_t column, const uint32_t *codes,
                       uint32_t n, uint32_t cardinality)
{
    size_t start;
    struct sf_buf *b = begin(w, &start);
    unsigned width = cardinality <= 256 ? 1 : cardinality <= 65536 ? 2 : 4;
    uint8_t enc = width == 1 ? SF_ENC_CODE8 : width == 2 ? SF_ENC_CODE16 : SF_ENC_CODE32;
    sf_planes_encode_codes(b, codes, n, width);
    return end(w, start, column, enc, n, cardinality, true);
}

static void keep_hashes(struct sf_span_block_writer *w, const struct sf_dict *d)
{
    for (uint32_t i = 0; i < d->n; i++)
        sf_buf_add_u32le(&w->hashes, (uint32_t)sf_hash_str(sf_dict_get(d, i)));
    w->n_hashes_here += d->n;
}

/* Texts: one value, a dictionary, or one by one. `key_hash` is what the attribute filter knows the
 * column by; 0 keeps it out of there. */
static bool emit_texts(struct sf_span_block_writer *w, uint16_t column, const struct sf_dict *d,
                       const uint32_t *codes, uint32_t n, uint64_t key_hash)
{
    bool is_small = key_hash && d->n <= SF_BLOCK_MAX_HASHES;
    struct sf_str_list list = {.bytes = d->bytes.p, .ends = d->ends, .n = d->n};
    size_t start;
    struct sf_buf *b;
    uint8_t enc;

    if (n == 0)
        return true;
    if (d->n == 1) {
        if (is_small)
            keep_hashes(w, d);
        return emit_bytes(w, column, SF_ENC_CONST, n, is_small, d->bytes.p, d->bytes.len, true);
    }
    if (key_hash && !is_small && w->has_filters && !sf_hash_set_add_all(&w->attr_set, key_hash, d))
        return sf_writer_fail(w, SF_ERR_NOMEM);
    if (d->n > n - n / 4 && !is_small) {
        list.order = d->n == n ? NULL : codes;
        list.n = n;
    } else if (!emit_codes(w, column, codes, n, d->n)) {
        return false;
    }
    if (is_small)
        keep_hashes(w, d);
    b = begin(w, &start);
    enc = sf_encode_strings(b, &list, &w->nums);
    return end(w, start, column, enc, list.n, is_small ? d->n : 0, enc != SF_ENC_UUID);
}

/* ---- numbers of attributes ---- */

/* No sf_table: a quarter full at most, and small enough for the stack. */
struct small { /* up to 256 distinct numbers */
    uint64_t vals[SF_BLOCK_MAX_HASHES];
    uint32_t counts[SF_BLOCK_MAX_HASHES];
    uint16_t slots[1024]; /* place + 1 */
    uint32_t n;
};

static bool find_distinct(struct small *s, const uint64_t *vals, uint32_t n, uint32_t *codes)
{
    memset(s->slots, 0, sizeof(s->slots));
    s->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = (uint32_t)(sf_key_u64(vals[i]) >> 54);
        while (s->slots[at] && s->vals[s->slots[at] - 1] != vals[i])
            at = (at + 1) & 1023;
        if (!s->slots[at]) {
            if (s->n == SF_BLOCK_MAX_HASHES)
                return false;
            s->counts[s->n] = 0;
            s->vals[s->n++] = vals[i];
            s->slots[at] = (uint16_t)s->n;
        }
        codes[i] = s->slots[at] - 1u;
        s->counts[codes[i]]++;
    }
    return true;
}

static bool emit_raw_numbers(struct sf_span_block_writer *w, uint16_t column, uint8_t type,
                             const uint64_t *vals, uint32_t n, uint32_t n_hashes)
{
    size_t start;
    struct sf_buf *b = begin(w, &start);
    uint8_t enc = type == SF_VALUE_BOOL     ? SF_ENC_BITS
                  : type == SF_VALUE_DOUBLE ? SF_ENC_F64
                                            : SF_ENC_PLANES;
    if (enc == SF_ENC_BITS)
        sf_encode_bits(b, vals, n);
    else if (enc == SF_ENC_F64)
        sf_encode_f64(b, vals, n);
    else
        sf_planes_encode(b, vals, n);
    return end(w, start, column, enc, n, n_hashes, true);
}

static bool emit_key_numbers(struct sf_span_block_writer *w, uint16_t column,
                             struct sf_key_stage *k)
{
    struct small s;
    uint32_t *codes;

    sf_buf_reset(&w->codes);
    codes = (uint32_t *)(void *)sf_buf_take(&w->codes, (size_t)k->n * 4);
    if (!codes)
        return sf_writer_fail(w, w->codes.err);
    if (!find_distinct(&s, k->nums, k->n, codes)) {
        k->is_partial = true;
        return emit_raw_numbers(w, column, k->type, k->nums, k->n, 0);
    }
    for (uint32_t i = 0; i < s.n; i++) {
        if (!sf_writer_count_value(w, k, (sf_str){(const char *)&s.vals[i], 8}, s.counts[i]))
            return false;
        sf_buf_add_u32le(&w->hashes, (uint32_t)sf_block_number_hash(s.vals[i]));
    }
    w->n_hashes_here += s.n;
    if (s.n == 1)
        return emit_bytes(w, column, SF_ENC_CONST, k->n, 1, s.vals, 8, false);
    if (k->type == SF_VALUE_BOOL || sf_planes_plan(k->nums, k->n).width <= 1)
        return emit_raw_numbers(w, column, k->type == SF_VALUE_BOOL ? SF_VALUE_BOOL : SF_VALUE_INT,
                                k->nums, k->n, s.n);
    return emit_codes(w, column, codes, k->n, s.n) &&
           emit_raw_numbers(w, column, k->type, s.vals, s.n, s.n);
}

/* ---- attributes ---- */

/* The most frequent texts of the block: all of a small dictionary, the repeated ones of a big. */
static bool count_texts(struct sf_span_block_writer *w, struct sf_key_stage *k)
{
    uint32_t *counts, least = 1;

    sf_buf_reset(&w->codes);
    counts = (uint32_t *)(void *)sf_buf_take(&w->codes, (size_t)k->dict.n * 4);
    if (!counts)
        return sf_writer_fail(w, w->codes.err);
    memset(counts, 0, (size_t)k->dict.n * 4);
    for (uint32_t i = 0; i < k->n; i++)
        counts[k->codes[i]]++;
    if (k->dict.n > SF_BLOCK_MAX_TOP) {
        k->is_partial = true;
        least = k->n / 2000 > 2 ? k->n / 2000 : 2;
    }
    for (uint32_t i = 0; i < k->dict.n; i++) {
        if (counts[i] >= least && !sf_writer_count_value(w, k, sf_dict_get(&k->dict, i), counts[i]))
            return false;
    }
    return true;
}

static int cmp_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool emit_keys(struct sf_span_block_writer *w)
{
    if (w->n_active)
        qsort(w->active_keys, w->n_active, sizeof(*w->active_keys), cmp_u32);
    for (uint32_t i = 0; i < w->n_active; i++) {
        struct sf_key_stage *k = &w->keys[w->active_keys[i]];
        uint16_t column = sf_u16(SF_BLOCK_FIRST_KEY + w->active_keys[i]);
        if (!sf_block_type_is_text(k->type)) {
            if (!emit_key_numbers(w, column, k))
                return false;
        } else {
            if (k->type != SF_VALUE_NONE && !count_texts(w, k))
                return false;
            if (!emit_texts(w, column, &k->dict, k->codes, k->n,
                            k->type == SF_VALUE_STR ? k->hash : 0))
                return false;
        }
        sf_dict_reset(&k->dict);
        k->n = 0;
    }
    w->n_active = 0;
    return true;
}

/* Shape codes of rows, events or links, and the keys of each shape. */
static bool emit_shapes(struct sf_span_block_writer *w, uint16_t column, uint32_t *shapes,
                        uint32_t n)
{
    struct sf_shape_node *nodes = w->shapes.nodes;
    uint32_t n_local = 0, stamp = w->n_granules + 1;
    struct sf_buf lens = {0}, keys = {0}, counts = {0};
    bool is_ok = true;
    size_t start;

    if (n == 0)
        return true;
    for (uint32_t i = 0; i < n; i++) {
        struct sf_shape_node *node = &nodes[shapes[i]];
        if (node->granule != stamp) {
            uint64_t *to;
            node->granule = stamp;
            node->local = n_local++;
            sf_buf_add_u64le(&lens, node->n_keys);
            sf_buf_add_u32le(&counts, 0);
            to = node->n_keys ? (uint64_t *)(void *)sf_buf_take(&keys, (size_t)node->n_keys * 8)
                              : NULL;
            if (!to && node->n_keys)
                break;
            for (const struct sf_shape_node *up = node; up->n_keys; up = &nodes[up->parent])
                to[up->n_keys - 1] = up->key;
        }
        shapes[i] = node->local;
        if (sf_buf_ok(&counts))
            ((uint32_t *)(void *)counts.p)[node->local]++;
    }
    if (!sf_buf_ok(&lens) || !sf_buf_ok(&keys) || !sf_buf_ok(&counts))
        is_ok = sf_writer_fail(w, SF_ERR_NOMEM);
    /* Rows per key: a key that a shape repeats counts once. */
    for (uint32_t s = 0, at = 0; is_ok && s < n_local; s++) {
        const uint64_t *list = keys.p ? (const uint64_t *)(const void *)keys.p + at : NULL;
        uint32_t len = (uint32_t)((const uint64_t *)(const void *)lens.p)[s];
        w->shape_stamp++;
        for (uint32_t i = 0; i < len; i++) {
            struct sf_key_stage *k = &w->keys[list[i]];
            if (k->shape_stamp != w->shape_stamp)
                k->n_spans += ((const uint32_t *)(const void *)counts.p)[s];
            k->shape_stamp = w->shape_stamp;
        }
        at += len;
    }
    if (is_ok && n_local > 1)
        is_ok = emit_codes(w, column, shapes, n, n_local);
    if (is_ok) {
        struct sf_buf *b = begin(w, &start);
        sf_planes_encode(b, (const uint64_t *)(const void *)lens.p, n_local);
        sf_planes_encode(b, (const uint64_t *)(const void *)keys.p, keys.len / 8);
        is_ok = end(w, start, column, SF_ENC_SHAPE, n_local, sf_u32(keys.len / 8), true);
    }
    sf_buf_done(&lens);
    sf_buf_done(&keys);
    sf_buf_done(&counts);
    return is_ok;
}

/* ---- columns of the span itself ---- */

static bool emit_times(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint64_t before = 0;
    uint32_t row = 0;

    for (uint32_t t = 0; t < g->n_traces; t++) {
        uint64_t first = g->starts[row];
        for (uint32_t i = 0; i < g->trace_rows[t]; i++)
            first = g->starts[row + i] < first ? g->starts[row + i] : first;
        for (uint32_t i = 0; i < g->trace_rows[t]; i++)
            g->starts[row + i] -= first;
        row += g->trace_rows[t];
        g->trace_starts[t] = first - before;
        before = first;
    }
    return emit_numbers(w, SF_BLOCK_TRACE_START, g->trace_starts, g->n_traces);
}

static bool emit_kinds(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t *codes, n = g->n_rows;

    sf_buf_reset(&w->codes);
    codes = (uint32_t *)(void *)sf_buf_take(&w->codes, (size_t)n * 4);
    if (!codes)
        return sf_writer_fail(w, w->codes.err);
    for (uint32_t i = 0; i < n; i++)
        codes[i] = g->any_high_kind ? g->kinds_col[i]
                                    : (uint32_t)(g->kinds_col[i] | g->status_col[i] << 4);
    return emit_u32s(w, SF_BLOCK_KIND, codes, n);
}

static bool emit_status(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t *codes;

    if (!g->any_high_kind)
        return true;
    codes = (uint32_t *)(void *)w->codes.p; /* as long as emit_kinds made it */
    for (uint32_t i = 0; i < g->n_rows; i++)
        codes[i] = g->status_col[i];
    return emit_u32s(w, SF_BLOCK_STATUS, codes, g->n_rows);
}

static bool emit_rows(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t n = g->n_rows;
    uint64_t name_hash = sf_block_key_hash(g->tenant, SF_SCOPE_INTRINSIC, SF_VALUE_STR,
                                           SF_STR("name"));
    uint64_t msg_hash = sf_block_key_hash(g->tenant, SF_SCOPE_INTRINSIC, SF_VALUE_STR,
                                          SF_STR("statusMessage"));

    return emit_bytes(w, SF_BLOCK_TRACE_ID, SF_ENC_FIX16, g->n_traces, 0, g->trace_ids,
                      (size_t)g->n_traces * 16, false) &&
           emit_u32s(w, SF_BLOCK_TRACE_ROWS, g->trace_rows, g->n_traces) && emit_times(w) &&
           emit_bytes(w, SF_BLOCK_SPAN_ID, SF_ENC_FIX8, n, 0, g->span_ids, (size_t)n * 8, false) &&
           emit_bytes(w, SF_BLOCK_PARENT, SF_ENC_CODE8, n, 256, g->parents, n, true) &&
           emit_u32s(w, SF_BLOCK_PARENT_ROW, (const uint32_t *)(const void *)g->parent_rows.p,
                     (uint32_t)(g->parent_rows.len / 4)) &&
           (g->parent_ids.len == 0 ||
            emit_bytes(w, SF_BLOCK_PARENT_ID, SF_ENC_FIX8, (uint32_t)(g->parent_ids.len / 8), 0,
                       g->parent_ids.p, g->parent_ids.len, true)) &&
           emit_numbers(w, SF_BLOCK_START, g->starts, n) &&
           emit_numbers(w, SF_BLOCK_DURATION, g->durations, n) &&
           emit_u32s(w, SF_BLOCK_RESOURCE, g->resources, n) &&
           emit_u32s(w, SF_BLOCK_SCOPE, g->scopes, n) &&
           emit_texts(w, SF_BLOCK_NAME, &g->name_dict, g->names, n, name_hash) && emit_kinds(w) &&
           (!g->has_status_msg ||
            emit_texts(w, SF_BLOCK_STATUS_MSG, &g->msg_dict, g->status_msgs, n, msg_hash)) &&
           (!g->has_trace_state ||
            emit_texts(w, SF_BLOCK_TRACE_STATE, &g->state_dict, g->trace_states, n, 0)) &&
           (!g->any_flags || emit_u32s(w, SF_BLOCK_FLAGS, g->flags, n)) &&
           (!g->any_dropped_attrs || emit_u32s(w, SF_BLOCK_DROPPED_ATTRS, g->dropped_attrs, n)) &&
           (!g->any_dropped_events ||
            emit_u32s(w, SF_BLOCK_DROPPED_EVENTS, g->dropped_events, n)) &&
           (!g->any_dropped_links || emit_u32s(w, SF_BLOCK_DROPPED_LINKS, g->dropped_links, n)) &&
           emit_shapes(w, SF_BLOCK_SHAPE, g->shapes, n) && emit_status(w) &&
           (!g->has_index || emit_numbers(w, SF_BLOCK_INDEX, g->index, n));
}

static const uint32_t *u32s(const struct sf_buf *b)
{
    return (const uint32_t *)(const void *)b->p;
}

static bool emit_events(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t n = g->n_events_all;

    if (n == 0)
        return true;
    return emit_u32s(w, SF_BLOCK_EVENTS, g->n_events, g->n_rows) &&
           emit_numbers(w, SF_BLOCK_EVENT_TIME, (const uint64_t *)(const void *)g->event_times.p,
                        n) &&
           emit_texts(w, SF_BLOCK_EVENT_NAME, &g->event_name_dict, u32s(&g->event_names), n, 0) &&
           emit_shapes(w, SF_BLOCK_EVENT_SHAPE, (uint32_t *)(void *)g->event_shapes.p, n) &&
           (!g->any_event_dropped ||
            emit_u32s(w, SF_BLOCK_EVENT_DROPPED, u32s(&g->event_dropped), n));
}

static bool emit_links(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t n = g->n_links_all;

    if (n == 0)
        return true;
    return emit_u32s(w, SF_BLOCK_LINKS, g->n_links, g->n_rows) &&
           emit_bytes(w, SF_BLOCK_LINK_TRACE_ID, SF_ENC_FIX16, n, 0, g->link_trace_ids.p,
                      (size_t)n * 16, true) &&
           emit_bytes(w, SF_BLOCK_LINK_SPAN_ID, SF_ENC_FIX8, n, 0, g->link_span_ids.p,
                      (size_t)n * 8, true) &&
           emit_texts(w, SF_BLOCK_LINK_STATE, &g->link_state_dict, u32s(&g->link_states), n, 0) &&
           emit_shapes(w, SF_BLOCK_LINK_SHAPE, (uint32_t *)(void *)g->link_shapes.p, n) &&
           (!g->any_link_dropped ||
            emit_u32s(w, SF_BLOCK_LINK_DROPPED, u32s(&g->link_dropped), n)) &&
           (!g->any_link_flags || emit_u32s(w, SF_BLOCK_LINK_FLAGS, u32s(&g->link_flags), n));
}

/* ---- operations ---- */

/* In the sketches per operation; model/rows.h says where each bucket ends. */
static uint32_t bucket_of(uint64_t duration_ns)
{
    /* 1000 * 2^(i / 4), rounded down; from 16 on every fourth power of two is 16 times before. */
    static const uint64_t QUARTERS[4] = {1000, 1189, 1414, 1681};
    uint32_t i;

    if (duration_ns <= 1000)
        return 0;
    i = (uint32_t)(63 - __builtin_clzll(duration_ns / 1000)) * 4;
    if (i >= SF_SKETCH_BUCKETS - 1)
        return SF_SKETCH_BUCKETS - 1;
    while (i < SF_SKETCH_BUCKETS - 1 && duration_ns > QUARTERS[i % 4] << (i / 4))
        i++;
    return i;
}

static bool find_operation(struct sf_span_block_writer *w, uint32_t tenant, uint32_t service,
                           sf_str name, uint32_t *out)
{
    uint32_t code, id[3] = {tenant, service, 0};

    for (;;) {
        if (sf_dict_find(&w->strings, name, &id[2]) &&
            sf_dict_find(&w->op_ids, (sf_str){(const char *)id, sizeof(id)}, out))
            return true;
        if (w->n_ops < MAX_OPS || sf_str_eq(name, OTHER))
            break;
        name = OTHER;
    }
    if (!sf_dict_add(&w->strings, name, &id[2]))
        return false;
    if (!sf_list_room(&w->ops, w->n_ops, &w->op_cap, 64))
        return false;
    if (!sf_dict_add(&w->op_ids, (sf_str){(const char *)id, sizeof(id)}, &code))
        return false;
    SF_ASSERT(code == w->n_ops);
    w->ops[w->n_ops++] = (struct sf_operation_stage){
        .tenant = tenant, .service = service, .name = id[2]};
    *out = code;
    return true;
}

void sf_call_count_span(struct sf_call_count *c, bool is_error, uint64_t duration_ns)
{
    c->n_spans++;
    c->n_errors += is_error;
    c->sum_ns = sf_add_sat_u64(c->sum_ns, duration_ns);
    c->buckets[bucket_of(duration_ns)]++;
}

static bool count_entry(struct sf_span_block_writer *w, uint32_t op, bool is_error,
                        uint64_t duration_ns)
{
    if (!w->ops[op].entry_plus_1) {
        if (!sf_list_room(&w->entries, w->n_entries, &w->entry_cap, 16))
            return sf_writer_fail(w, SF_ERR_NOMEM);
        w->entries[w->n_entries] = (struct sf_entry_stage){.op = op};
        w->ops[op].entry_plus_1 = ++w->n_entries;
    }
    sf_call_count_span(&w->entries[w->ops[op].entry_plus_1 - 1].count, is_error, duration_ns);
    return true;
}

static bool count_operations(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    struct seen {
        uint32_t service_plus_1, op;
    } * seen; /* by name: the operation it was last */

    sf_buf_reset(&w->codes);
    seen = (struct seen *)(void *)sf_buf_take(&w->codes, g->name_dict.n * sizeof(*seen));
    if (!seen)
        return sf_writer_fail(w, w->codes.err);
    memset(seen, 0, g->name_dict.n * sizeof(*seen));
    for (uint32_t i = 0; i < g->n_rows; i++) {
        struct seen *s = &seen[g->names[i]];
        uint32_t service = w->resource_stages[g->resources[i]].service;
        uint64_t start_ns = g->starts[i], end_ns = start_ns + g->durations[i];
        uint64_t duration = end_ns > start_ns ? end_ns - start_ns : 0;
        bool is_error = g->status_col[i] == SF_STATUS_ERROR;
        if (s->service_plus_1 != service + 1) {
            if (!find_operation(w, g->tenant, service, sf_dict_get(&g->name_dict, g->names[i]),
                                &s->op))
                return sf_writer_fail(w, SF_ERR_NOMEM);
            s->service_plus_1 = service + 1;
        }
        sf_call_count_span(&w->ops[s->op].all, is_error, duration);
        if (sf_span_is_entry(g->kinds_col[i], g->parents[i] == 0, g->flags[i]) &&
            !count_entry(w, s->op, is_error, duration))
            return false;
    }
    return true;
}

/* ---- the granule ---- */

/* Which resources occur, as runs of codes. */
static bool emit_runs(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    uint32_t n = 0, *codes;

    sf_buf_reset(&w->codes);
    codes = (uint32_t *)(void *)sf_buf_take(&w->codes, (size_t)g->n_rows * 4);
    if (!codes)
        return sf_writer_fail(w, w->codes.err);
    for (uint32_t i = 0; i < g->n_rows; i++) {
        struct sf_resource_stage *r = &w->resource_stages[g->resources[i]];
        if (r->granule != w->n_granules + 1) {
            r->granule = w->n_granules + 1;
            codes[n++] = g->resources[i];
        }
    }
    qsort(codes, n, sizeof(*codes), cmp_u32);
    for (uint32_t i = 0, len; i < n; i += len) {
        for (len = 1; i + len < n && codes[i + len] == codes[i] + len; len++)
            ;
        sf_buf_add_u32le(&w->runs, codes[i]);
        sf_buf_add_u32le(&w->runs, len);
        w->n_runs_here++;
    }
    return sf_buf_ok(&w->runs) || sf_writer_fail(w, w->runs.err);
}

static bool hash_ids(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;

    for (uint32_t t = g->is_continuation; t < g->n_traces; t++)
        sf_buf_add_u64le(&w->trace_hashes, sf_trace_id_hash(g->trace_ids[t], g->tenant));
    if (w->has_filters) {
        uint64_t *to = (uint64_t *)(void *)sf_buf_take(&w->span_hashes, (size_t)g->n_rows * 8);
        for (uint32_t i = 0; to && i < g->n_rows; i++)
            to[i] = sf_block_span_hash(g->tenant, g->span_ids[i]);
    }
    if (!sf_buf_ok(&w->trace_hashes) || !sf_buf_ok(&w->span_hashes))
        return sf_writer_fail(w, SF_ERR_NOMEM);
    return true;
}

static bool add_record(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;
    struct sf_buf *b = &w->granules;

    sf_buf_add_u32le(b, g->tenant);
    sf_buf_add_u32le(b, g->n_rows);
    sf_buf_add_u32le(b, g->n_traces);
    sf_buf_add_u32le(b, g->is_continuation);
    sf_buf_add_u64le(b, (uint64_t)g->ts_min_ns);
    sf_buf_add_u64le(b, (uint64_t)g->ts_max_ns);
    sf_buf_add_u64le(b, g->dur_min_ns);
    sf_buf_add_u64le(b, g->dur_max_ns);
    sf_buf_add_u8(b, g->statuses);
    sf_buf_add_u8(b, g->kinds);
    sf_buf_add_u16le(b, 0);
    sf_buf_add_u32le(b, w->n_chunks_here);
    sf_buf_add_u32le(b, w->n_hashes_here);
    sf_buf_add_u32le(b, w->n_runs_here);
    return (sf_buf_ok(b) && sf_buf_ok(&w->hashes)) || sf_writer_fail(w, SF_ERR_NOMEM);
}

bool sf_granule_encode(struct sf_span_block_writer *w)
{
    struct sf_granule_stage *g = &w->g;

    if (g->n_rows == 0)
        return true;
    if (w->group_rows + g->n_rows > SF_BLOCK_GROUP_ROWS && !sf_writer_close_group(w))
        return false;
    w->n_chunks_here = w->n_hashes_here = w->n_runs_here = 0;
    if (!hash_ids(w) || !emit_runs(w) || !count_operations(w) || !emit_rows(w) || !emit_events(w) ||
        !emit_links(w) || !emit_keys(w) || !add_record(w))
        return false;
    w->group_rows += g->n_rows;
    w->n_granules++;
    w->info.n_rows += g->n_rows;
    w->info.n_traces += g->n_traces - g->is_continuation;
    w->info.ts_min_ns = g->ts_min_ns < w->info.ts_min_ns ? g->ts_min_ns : w->info.ts_min_ns;
    w->info.ts_max_ns = g->ts_max_ns > w->info.ts_max_ns ? g->ts_max_ns : w->info.ts_max_ns;
    sf_granule_stage_reset(g);
    return true;
}
