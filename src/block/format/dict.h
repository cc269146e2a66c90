/* dict.h - distinct strings in order of first appearance, with their numbers (codes).
 *
 * Each column of a granule has one; its bytes are contiguous, ready to be written. If nearly every
 * string is new, looking it up is wasted time: a frozen dictionary still finds the strings it has,
 * frequent ones among them, and adds all others as new entries without a search. */
#pragma once
#include "base/buf.h"
#include "base/num.h"
#include "base/table.h"

struct sf_dict {
    struct sf_buf bytes;
    uint32_t *ends;   /* entry i is bytes [ends[i - 1], ends[i]) */
    uint64_t *hashes; /* sf_key of each entry, so that one dictionary can add from another without
                         hashing */
    uint32_t n, cap;
    struct sf_table at;
    uint32_t last; /* last code returned: neighbours are often equal */
    bool is_frozen;
};

enum { SF_DICT_FREEZE = 1024 }; /* entries: a table of this size fits the L1 cache */

void sf_dict_done(struct sf_dict *d);  /* a zeroed one is fine */
void sf_dict_reset(struct sf_dict *d); /* empties it; frees large memory */
/* The code of `s`, which is added if it is new. False: no memory (or 2 GiB of bytes). */
bool sf_dict_add(struct sf_dict *d, sf_str s, uint32_t *out_code);
/* The same in two steps, so that the cache misses of several lookups overlap: first is_last, which
 * is true if `s` is the entry returned last; else hash and prefetch; then add with the hash. */
static inline bool sf_dict_is_last(const struct sf_dict *d, sf_str s);
static inline void sf_dict_prefetch(const struct sf_dict *d, uint64_t hash);
/* Two further prefetch steps for a dictionary that is not in a near cache: the position of the
 * entry's bytes, and the bytes. */
static inline void sf_dict_prefetch_entry(const struct sf_dict *d, uint64_t hash);
static inline void sf_dict_prefetch_bytes(const struct sf_dict *d, uint64_t hash);
/* `hash` is sf_key of it. */
bool sf_dict_add_hashed(struct sf_dict *d, sf_str s, uint64_t hash, uint32_t *out_code);
bool sf_dict_find(const struct sf_dict *d, sf_str s, uint32_t *out_code);
/* Call from time to time, with the number of lookups: freezes the dictionary if most were new. */
static inline void sf_dict_settle(struct sf_dict *d, uint32_t n_asked)
{
    if (d->n >= SF_DICT_FREEZE && d->n > n_asked - n_asked / 4)
        d->is_frozen = true;
}
/* Valid until the next add. */
static inline sf_str sf_dict_get(const struct sf_dict *d, uint32_t code);
size_t sf_dict_memory(const struct sf_dict *d);

/* For strings as short as keys, a call of memcmp costs more than the comparison. */
static inline bool sf_same_bytes(const void *a, const void *b, size_t len)
{
    const uint8_t *x = a, *y = b;
    if (len >= 8) {
        size_t at = 0;
        for (; at + 8 < len; at += 8) {
            if (sf_load_u64le(x + at) != sf_load_u64le(y + at))
                return false;
        }
        return sf_load_u64le(x + len - 8) == sf_load_u64le(y + len - 8);
    }
    if (len >= 4)
        return sf_load_u32le(x) == sf_load_u32le(y) &&
               sf_load_u32le(x + len - 4) == sf_load_u32le(y + len - 4);
    return len == 0 || (x[0] == y[0] && x[len / 2] == y[len / 2] && x[len - 1] == y[len - 1]);
}
static inline sf_str sf_dict_get(const struct sf_dict *d, uint32_t code)
{
    uint32_t start = code ? d->ends[code - 1] : 0;
    return (sf_str){(const char *)d->bytes.p + start, d->ends[code] - start};
}
static inline bool sf_dict_is(const struct sf_dict *d, uint32_t code, sf_str s)
{
    sf_str have = sf_dict_get(d, code);
    return have.len == s.len && sf_same_bytes(have.p, s.p, s.len);
}
static inline bool sf_dict_is_last(const struct sf_dict *d, sf_str s)
{
    return d->n && sf_dict_is(d, d->last, s);
}
static inline void sf_dict_prefetch(const struct sf_dict *d, uint64_t hash)
{
    sf_table_prefetch(&d->at, hash);
}
static inline void sf_dict_prefetch_entry(const struct sf_dict *d, uint64_t hash)
{
    uint32_t code;
    if (sf_table_peek(&d->at, hash, &code))
        __builtin_prefetch(&d->ends[code]);
}
static inline void sf_dict_prefetch_bytes(const struct sf_dict *d, uint64_t hash)
{
    uint32_t code;
    if (sf_table_peek(&d->at, hash, &code))
        __builtin_prefetch(sf_dict_get(d, code).p);
}
