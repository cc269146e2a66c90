/* granule_count.c - adds the statistics of a granule to the tables of its block: operations, number
 * of rows per key, frequent values, resources, ids. Used for rows that are encoded and for granules
 * that are copied from another block. */
#include <stdlib.h>

#include "base/list.h"
#include "block/span/writer.h"

/* A block has at most `options.max_ops` operations (a sender may put ids into span names), whose
 * names have 256 bytes on average; further ones are counted under one name per service. */
enum { OP_NAME_LEN = 256 };
#define OTHER SF_STR("(other operations)")

/* ---- values ---- */

bool sf_granule_count_find_few(struct sf_few *s, const uint64_t *vals, uint32_t n, uint32_t *codes)
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

uint32_t sf_granule_count_key_least(struct sf_key_stage *k, uint32_t n_texts, uint32_t n)
{
    if (n_texts <= SF_BLOCK_MAX_TOP)
        return 1;
    k->is_partial = true;
    return n / 2000 > 2 ? n / 2000 : 2;
}

bool sf_granule_count_texts(struct sf_span_block_writer *w, struct sf_key_stage *k,
                            const struct sf_text_list *texts, const uint32_t *codes, uint32_t n)
{
    uint32_t *counts, least = sf_granule_count_key_least(k, texts->n, n);

    sf_buf_reset(&w->codes);
    counts = (uint32_t *)(void *)sf_buf_take(&w->codes, (size_t)texts->n * 4);
    if (!counts)
        return sf_span_block_writer_fail(w, w->codes.err);
    memset(counts, 0, (size_t)texts->n * 4);
    for (uint32_t i = 0; i < n; i++)
        counts[codes[i]]++;
    for (uint32_t i = 0; i < texts->n; i++) {
        if (counts[i] >= least &&
            !sf_key_stage_count_value(w, k, sf_text_list_get(texts, i), counts[i]))
            return false;
    }
    return true;
}

void sf_granule_count_shapes(struct sf_span_block_writer *w, const uint64_t *lens,
                             const uint64_t *keys, const uint32_t *counts, uint32_t n)
{
    uint64_t at = 0;
    for (uint32_t s = 0; s < n; s++) {
        uint64_t end = at + lens[s];
        w->shape_stamp++;
        for (; at < end; at++) {
            struct sf_key_stage *k = &w->keys[keys[at]];
            /* A key that occurs twice in a shape counts once. */
            if (k->shape_stamp != w->shape_stamp)
                k->n_spans += counts[s];
            k->shape_stamp = w->shape_stamp;
        }
    }
}

/* ---- operations ---- */

/* The bucket in the sketches per operation; model/span_rows.h defines where each bucket ends. */
static uint32_t granule_count_bucket_of(uint64_t duration_ns)
{
    /* 1000 * 2^(i / 4), rounded down; the following bounds are these, shifted left. */
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

static bool has_room(const struct sf_span_block_writer *w, sf_str name)
{
    return w->n_ops < w->options.max_ops &&
           w->op_names_len + name.len <= (size_t)w->options.max_ops * OP_NAME_LEN;
}

static bool find_operation(struct sf_span_block_writer *w, uint32_t tenant, uint32_t service,
                           sf_str name, uint32_t *out)
{
    uint32_t code, id[3] = {tenant, service, 0};

    for (;;) {
        if (sf_dict_find(&w->strings, name, &id[2]) &&
            sf_dict_find(&w->op_ids, (sf_str){(const char *)id, sizeof(id)}, out))
            return true;
        if (has_room(w, name) || sf_str_eq(name, OTHER))
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
    w->op_names_len += name.len;
    w->ops[w->n_ops++] = (struct sf_operation_stage){
        .tenant = tenant, .service = service, .name = id[2]};
    *out = code;
    return true;
}

void sf_granule_count_call(struct sf_call_count *c, bool is_error, uint64_t duration_ns)
{
    c->n_spans++;
    c->n_errors += is_error;
    c->sum_ns = sf_add_sat_u64(c->sum_ns, duration_ns);
    c->buckets[granule_count_bucket_of(duration_ns)]++;
}

static bool count_entry(struct sf_span_block_writer *w, uint32_t op, bool is_error,
                        uint64_t duration_ns)
{
    if (!w->ops[op].entry_plus_1) {
        if (!sf_list_room(&w->entries, w->n_entries, &w->entry_cap, 16))
            return sf_span_block_writer_fail(w, SF_ERR_NOMEM);
        w->entries[w->n_entries] = (struct sf_entry_stage){.op = op};
        w->ops[op].entry_plus_1 = ++w->n_entries;
    }
    sf_granule_count_call(&w->entries[w->ops[op].entry_plus_1 - 1].count, is_error, duration_ns);
    return true;
}

bool sf_granule_count_calls(struct sf_span_block_writer *w, const struct sf_call_columns *c)
{
    struct seen {
        uint32_t service_plus_1, op;
    } * seen; /* by name: the last operation with it */

    sf_buf_reset(&w->codes);
    seen = (struct seen *)(void *)sf_buf_take(&w->codes, c->names.n * sizeof(*seen));
    if (!seen)
        return sf_span_block_writer_fail(w, w->codes.err);
    memset(seen, 0, c->names.n * sizeof(*seen));
    for (uint32_t i = 0; i < c->n_rows; i++) {
        struct seen *s = &seen[c->name[i]];
        uint32_t service = w->resource_stages[c->resource[i]].service;
        uint64_t duration = c->duration_ns[i];
        bool is_error = c->status[i] == SF_STATUS_ERROR;
        if (c->start_ns && c->start_ns[i] + duration < c->start_ns[i])
            duration = 0; /* it ends before it starts */
        if (s->service_plus_1 != service + 1) {
            if (!find_operation(w, c->tenant, service, sf_text_list_get(&c->names, c->name[i]),
                                &s->op))
                return sf_span_block_writer_fail(w, SF_ERR_NOMEM);
            s->service_plus_1 = service + 1;
        }
        sf_granule_count_call(&w->ops[s->op].all, is_error, duration);
        if (sf_span_is_entry(c->kind[i], c->parent[i] == 0, c->flags[i]) &&
            !count_entry(w, s->op, is_error, duration))
            return false;
    }
    return true;
}

/* ---- ids and resources ---- */

bool sf_granule_count_hash_traces(struct sf_span_block_writer *w, uint32_t tenant,
                                  const sf_trace_id *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        sf_buf_add_u64le(&w->trace_hashes, sf_trace_id_hash(ids[i], tenant));
    return sf_buf_ok(&w->trace_hashes) || sf_span_block_writer_fail(w, SF_ERR_NOMEM);
}

static int granule_count_cmp_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Notes which resources occur, as runs of codes. */
bool sf_granule_count_add_runs(struct sf_span_block_writer *w, const uint32_t *resources,
                               uint32_t n_rows)
{
    uint32_t n = 0, *codes;

    sf_buf_reset(&w->codes);
    codes = (uint32_t *)(void *)sf_buf_take(&w->codes, (size_t)n_rows * 4);
    if (!codes)
        return sf_span_block_writer_fail(w, w->codes.err);
    for (uint32_t i = 0; i < n_rows; i++) {
        struct sf_resource_stage *r = &w->resource_stages[resources[i]];
        if (r->granule != w->n_granules + 1) {
            r->granule = w->n_granules + 1;
            codes[n++] = resources[i];
        }
    }
    qsort(codes, n, sizeof(*codes), granule_count_cmp_u32);
    for (uint32_t i = 0, len; i < n; i += len) {
        for (len = 1; i + len < n && codes[i + len] == codes[i] + len; len++)
            ;
        sf_buf_add_u32le(&w->runs, codes[i]);
        sf_buf_add_u32le(&w->runs, len);
        w->n_runs_here++;
    }
    return sf_buf_ok(&w->runs) || sf_span_block_writer_fail(w, w->runs.err);
}
