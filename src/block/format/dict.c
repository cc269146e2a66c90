#include "block/format/dict.h"

#include <string.h>

#include "base/heap.h"
#include "base/list.h"

enum { KEEP_SLOTS = 4096, KEEP_LEN = 1 << 16 };

void sf_dict_done(struct sf_dict *d)
{
    sf_buf_done(&d->bytes);
    sf_heap_free(d->ends);
    sf_heap_free(d->hashes);
    sf_table_done(&d->at);
    *d = (struct sf_dict){0};
}

void sf_dict_reset(struct sf_dict *d)
{
    if (d->at.n_slots > KEEP_SLOTS || d->bytes.cap > KEEP_LEN) {
        /* Shrinks a table that one unusual granule enlarged, since clearing it costs time. */
        if (d->n < d->at.n_slots / 8 || d->bytes.len < d->bytes.cap / 8) {
            sf_dict_done(d);
            return;
        }
    }
    sf_table_clear(&d->at);
    sf_buf_reset(&d->bytes);
    d->n = 0;
    d->last = 0;
    d->is_frozen = false;
}

size_t sf_dict_memory(const struct sf_dict *d)
{
    return d->bytes.cap + d->cap * (sizeof(*d->ends) + sizeof(*d->hashes)) +
           sf_table_memory(&d->at);
}

static bool grow_entries(struct sf_dict *d)
{
    uint32_t cap = d->cap;
    return sf_list_room(&d->ends, d->n, &cap, 16) && sf_buf_reserve(&d->bytes, 1) &&
           sf_list_room(&d->hashes, d->n, &d->cap, 16);
}

/* The code of `s`; if it is not there, `lookup` is the slot for a new entry. */
static bool dict_find(const struct sf_dict *d, sf_str s, uint64_t hash,
                      struct sf_table_lookup *lookup, uint32_t *out_code)
{
    uint32_t code;
    *lookup = sf_table_lookup(&d->at, hash);
    while (sf_table_next(lookup, &code)) {
        if (sf_dict_is(d, code, s)) {
            *out_code = code;
            return true;
        }
    }
    return false;
}

bool sf_dict_find(const struct sf_dict *d, sf_str s, uint32_t *out_code)
{
    struct sf_table_lookup lookup;
    return d->n && dict_find(d, s, sf_key_str(s), &lookup, out_code);
}

bool sf_dict_add_hashed(struct sf_dict *d, sf_str s, uint64_t hash, uint32_t *out_code)
{
    struct sf_table_lookup lookup;

    if (!d->is_frozen && !sf_table_more(&d->at))
        return false;
    if (dict_find(d, s, hash, &lookup, &d->last)) {
        *out_code = d->last;
        return true;
    }
    if (d->n == d->cap && !grow_entries(d))
        return false;
    if (s.len > d->bytes.cap - d->bytes.len && !sf_buf_reserve(&d->bytes, s.len))
        return false;
    if (s.len)
        memcpy(d->bytes.p + d->bytes.len, s.p, s.len);
    d->bytes.len += s.len;
    d->ends[d->n] = (uint32_t)d->bytes.len;
    d->hashes[d->n] = hash;
    if (!d->is_frozen)
        sf_table_keep(&d->at, &lookup, d->n);
    d->last = d->n++;
    *out_code = d->last;
    return true;
}

bool sf_dict_add(struct sf_dict *d, sf_str s, uint32_t *out_code)
{
    if (sf_dict_is_last(d, s)) {
        *out_code = d->last;
        return true;
    }
    return sf_dict_add_hashed(d, s, sf_key_str(s), out_code);
}
