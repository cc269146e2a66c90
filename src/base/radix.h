/* radix.h - numbers put in order by their bytes, without comparing them.
 *
 * For lists that are sorted by a number of up to 32 bits: that in the high half of each entry, the
 * place of what it belongs to in the low half. A pass over the list for each byte that differs, so
 * that small numbers cost one or two. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Sorts by the high halves; entries with equal ones stay in their order. `space` is as long. */
void sf_radix_sort(uint64_t *list, uint64_t *space, size_t n);
