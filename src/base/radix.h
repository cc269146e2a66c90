/* radix.h - radix sort of 64-bit entries by their upper 32 bits.
 *
 * The upper half of an entry is the key, the lower half is usually the index of the item that it
 * belongs to. The sort makes one pass for each key byte, from the lowest to the highest, and skips
 * bytes that are equal in all entries: small keys need one or two passes. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Stable sort by the upper half. `space` is scratch for n entries. */
void sf_radix_sort(uint64_t *list, uint64_t *space, size_t n);
