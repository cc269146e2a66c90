/* key_stage.c - collects the attribute names of a block, and their frequent values. */
#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "block/span/writer.h"

enum { MAX_TOP_LEN = 256 }; /* longer values are not listed as frequent ones */

void sf_key_stage_done(struct sf_key_stage *k)
{
    sf_dict_done(&k->dict);
    sf_heap_free(k->codes);
    sf_heap_free(k->nums);
    sf_dict_done(&k->top);
    sf_heap_free(k->top_counts);
}

/* ---- keys ---- */

static bool grow_keys(struct sf_span_block_writer *w)
{
    uint32_t cap = w->key_cap;
    return sf_list_room(&w->keys, w->n_keys, &cap, 64) &&
           sf_list_room(&w->active_keys, w->n_keys, &w->key_cap, 64);
}

enum sf_err sf_key_stage_get(struct sf_span_block_writer *w, uint32_t tenant, uint8_t scope,
                             uint8_t type, sf_str name, uint32_t *out_key)
{
    uint8_t head[6];
    uint32_t key, name_code;

    if (w->n_keys >= SF_WRITER_MAX_KEYS) {
        type = SF_VALUE_NONE;
        name = SF_STR_NONE;
    }
    for (;;) {
        sf_store_u32le(head, tenant);
        head[4] = scope;
        head[5] = type;
        sf_buf_reset(&w->raw);
        sf_buf_add(&w->raw, head, sizeof(head));
        sf_buf_add_str(&w->raw, name);
        if (!sf_buf_ok(&w->raw))
            return SF_ERR_NOMEM;
        if (sf_dict_find(&w->key_ids, sf_buf_str(&w->raw), out_key))
            return SF_OK;
        if (w->n_keys < SF_WRITER_MAX_KEYS || type == SF_VALUE_NONE)
            break;
        type = SF_VALUE_NONE;
        name = SF_STR_NONE;
    }
    if (w->n_keys == SF_BLOCK_MAX_KEYS)
        return SF_ERR_LIMIT;
    if (w->n_keys == w->key_cap && !grow_keys(w))
        return SF_ERR_NOMEM;
    if (!sf_dict_add(&w->strings, name, &name_code) ||
        !sf_dict_add(&w->key_ids, sf_buf_str(&w->raw), &key))
        return SF_ERR_NOMEM;
    SF_ASSERT(key == w->n_keys);
    w->keys[w->n_keys++] = (struct sf_key_stage){
        .tenant = tenant,
        .name = name_code,
        .scope = scope,
        .type = type,
        .hash = sf_block_key_hash(tenant, scope, type, name),
        .is_partial = type == SF_VALUE_NONE};
    *out_key = key;
    return SF_OK;
}

/* ---- frequent values ---- */

static int key_stage_cmp_count(const void *a, const void *b, void *arg)
{
    const uint32_t *counts = arg;
    uint32_t x = counts[*(const uint32_t *)a], y = counts[*(const uint32_t *)b];
    return (x < y) - (x > y);
}

/* Keeps the MAX_TOP most frequent. */
static bool prune_top(struct sf_key_stage *k)
{
    struct sf_dict kept = {0};
    uint32_t *order = sf_heap_new_n(k->top.n, sizeof(*order)), code;
    uint32_t *counts = sf_heap_new_n(k->top_cap, sizeof(*counts));
    bool is_ok = order && counts;

    for (uint32_t i = 0; is_ok && i < k->top.n; i++)
        order[i] = i;
    if (is_ok)
        qsort_r(order, k->top.n, sizeof(*order), key_stage_cmp_count, k->top_counts);
    for (uint32_t i = 0; is_ok && i < SF_BLOCK_MAX_TOP; i++) {
        is_ok = sf_dict_add(&kept, sf_dict_get(&k->top, order[i]), &code);
        counts[i] = k->top_counts[order[i]];
    }
    sf_heap_free(order);
    if (!is_ok) {
        sf_heap_free(counts);
        sf_dict_done(&kept);
        return false;
    }
    sf_dict_done(&k->top);
    sf_heap_free(k->top_counts);
    k->top = kept;
    k->top_counts = counts;
    k->is_partial = true;
    return true;
}

bool sf_key_stage_count_value(struct sf_span_block_writer *w, struct sf_key_stage *k, sf_str bytes,
                              uint32_t count)
{
    uint32_t code, n = k->top.n;

    if (bytes.len > MAX_TOP_LEN) {
        k->is_partial = true;
        return true;
    }
    if (n == 2 * SF_BLOCK_MAX_TOP && !prune_top(k))
        return sf_span_block_writer_fail(w, SF_ERR_NOMEM);
    n = k->top.n;
    if (!sf_dict_add(&k->top, bytes, &code))
        return sf_span_block_writer_fail(w, SF_ERR_NOMEM);
    if (code == n && !sf_list_room(&k->top_counts, n, &k->top_cap, 16))
        return sf_span_block_writer_fail(w, SF_ERR_NOMEM);
    k->top_counts[code] = code == n ? count : k->top_counts[code] + count;
    return true;
}
