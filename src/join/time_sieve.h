/* time_sieve.h - selects an even sample of any number of traces, reproducibly.
 *
 * Time is divided into slices of equal length. Each slice has a window, which begins at a position
 * given by a hash of the slice and wraps around at its end. A trace that begins in a window passes.
 * Every level halves the windows: a fraction of 1 / 2^level of the time is open, evenly over the
 * whole range. The caller raises the level when too many traces pass, and drops those that no
 * longer pass: the result is the lowest level that fits, whatever the order of the traces.
 *
 * Windows are used instead of a hash of each trace id because traces that began together are stored
 * together, so that reading a thousand requests of a million costs as much as reading a thousand.
 * Callers that draw conclusions must account for the correlation between neighbours. */
#pragma once
#include "base/hash.h"

struct sf_time_sieve {
    uint32_t shift; /* a slice is 2^shift ns */
    uint32_t level; /* at most `shift` */
};

/* About `n` slices in `range_ns`, more rather than fewer. */
static inline struct sf_time_sieve sf_time_sieve_make(uint64_t range_ns, uint32_t n)
{
    struct sf_time_sieve s = {.shift = 1};
    while (s.shift < 62 && range_ns / n >> (s.shift + 1) != 0)
        s.shift++;
    return s;
}

static inline bool sf_time_sieve_takes(const struct sf_time_sieve *s, uint64_t start_ns)
{
    uint64_t mask = (UINT64_C(1) << s->shift) - 1;
    uint64_t from_ns = sf_hash_mix(0x5eed, start_ns >> s->shift) & mask;
    return ((start_ns - from_ns) & mask) < (UINT64_C(1) << s->shift >> s->level);
}
