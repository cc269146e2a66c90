/* dwarf_addresses.h - the sorted addresses of one query. */
#pragma once
#include <stdint.h>

/* The index of the first one that is not below `address`; `n` if all are. */
static inline uint32_t sf_dwarf_first_from(const uint64_t *at, uint32_t n, uint64_t address)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (at[middle] < address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}
