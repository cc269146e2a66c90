/* time_sieve.h - an even part of any number of traces, the same one whenever it is requested.
 *
 * Time is cut into slices of one length, and of each a window is open that begins somewhere in
 * it, as a hash of the slice says, and goes round at its end. A trace that begins in a window
 * passes. Every level halves the windows: one moment in 2^level is open, over all of the time. The
 * caller raises the level when too many items pass, and drops those that no longer pass: the
 * collection ends at the lowest level that fits, in whatever order traces came.
 *
 * Windows, and not a hash of each trace's id: what began together lies together in the store, so
 * that reading a thousand requests of a million costs what a thousand cost. Callers that draw
 * conclusions must account for correlation between neighbours. */
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
