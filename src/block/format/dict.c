#include "block/format/dict.h"

#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"

enum { FIRST_SLOTS = 32, KEEP_SLOTS = 4096, KEEP_LEN = 1 << 16 };

void sf_dict_done(struct sf_dict *d)
{
    sf_buf_done(&d->bytes);
    sf_heap_free(d->ends);
    sf_heap_free(d->hashes);
    sf_heap_free(d->slots);
    *d = (struct sf_dict){0};
}

void sf_dict_reset(struct sf_dict *d)
{
    if (d->n_slots > KEEP_SLOTS || d->bytes.cap > KEEP_LEN) {
        /* One odd granule must not make every later one clear its big table. */
        if (d->n < d->n_slots / 8 || d->bytes.len < d->bytes.cap / 8) {
            sf_dict_done(d);
            return;
        }
    }
    if (d->n)
        memset(d->slots, 0, d->n_slots * sizeof(*d->slots));
    sf_buf_reset(&d->bytes);
    d->n = 0;
    d->last = 0;
    d->is_frozen = false;
}

size_t sf_dict_memory(const struct sf_dict *d)
{
    return d->bytes.cap + d->cap * (sizeof(*d->ends) + sizeof(*d->hashes)) +
           d->n_slots * sizeof(*d->slots);
}

static uint64_t slot_of(uint64_t hash, uint32_t code)
{
    return (hash & 0xffffffff00000000u) | (code + 1);
}

static bool grow_slots(struct sf_dict *d)
{
    uint32_t n_slots = d->n_slots ? d->n_slots * 2 : FIRST_SLOTS;
    uint64_t *slots = sf_heap_new_n(n_slots, sizeof(*slots));
    if (!slots)
        return false;
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t at = (uint32_t)d->hashes[i] & (n_slots - 1);
        while (slots[at])
            at = (at + 1) & (n_slots - 1);
        slots[at] = slot_of(d->hashes[i], i);
    }
    sf_heap_free(d->slots);
    d->slots = slots;
    d->n_slots = n_slots;
    return true;
}

static bool grow_entries(struct sf_dict *d)
{
    uint32_t cap = d->cap;
    return sf_list_room(&d->ends, d->n, &cap, 16) && sf_buf_reserve(&d->bytes, 1) &&
           sf_list_room(&d->hashes, d->n, &d->cap, 16);
}

static bool look(const struct sf_dict *d, sf_str s, uint64_t hash, uint32_t *out_at,
                 uint32_t *out_code)
{
    uint32_t at = (uint32_t)hash & (d->n_slots - 1);
    for (; d->slots[at]; at = (at + 1) & (d->n_slots - 1)) {
        uint32_t code = (uint32_t)d->slots[at] - 1;
        if ((d->slots[at] ^ hash) >> 32 == 0 && sf_dict_is(d, code, s)) {
            *out_code = code;
            return true;
        }
    }
    *out_at = at;
    return false;
}

bool sf_dict_find(const struct sf_dict *d, sf_str s, uint32_t *out_code)
{
    uint32_t at;
    return d->n && look(d, s, sf_hash(s.p, s.len), &at, out_code);
}

bool sf_dict_add_hashed(struct sf_dict *d, sf_str s, uint64_t hash, uint32_t *out_code)
{
    uint32_t at;

    if (d->n >= d->n_slots / 4 * 3 && !d->is_frozen && !grow_slots(d))
        return false;
    if (look(d, s, hash, &at, &d->last)) {
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
        d->slots[at] = slot_of(hash, d->n);
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
    return sf_dict_add_hashed(d, s, sf_hash(s.p, s.len), out_code);
}
