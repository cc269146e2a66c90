/* dict.h - distinct strings in order of first appearance, and the number of each.
 *
 * One column of one granule has one; its bytes lie back to back, ready to be written. */
#pragma once
#include "base/buf.h"

struct sf_dict {
    struct sf_buf bytes;
    uint32_t *ends;   /* entry i is bytes [ends[i - 1], ends[i]) */
    uint64_t *hashes; /* sf_hash of each entry */
    uint32_t n, cap;
    uint64_t *slots; /* high half of the hash, then code + 1; 0: free */
    uint32_t n_slots;
    uint32_t last; /* code given last: neighbours are often equal */
};

void sf_dict_done(struct sf_dict *d);  /* a zeroed one is fine */
void sf_dict_reset(struct sf_dict *d); /* empties; gives large memory back */
/* The code of `s`, which is added when new. False: no memory (or 2 GiB of bytes). */
bool sf_dict_add(struct sf_dict *d, sf_str s, uint32_t *out_code);
bool sf_dict_find(const struct sf_dict *d, sf_str s, uint32_t *out_code);
sf_str sf_dict_get(const struct sf_dict *d, uint32_t code); /* borrowed until the next add */
size_t sf_dict_memory(const struct sf_dict *d);
