/* pressure.h - load levels: what the server still accepts under load.
 *
 * Each level refuses more data, the least valuable first: the detail of samples of less important
 * traces, all detail, profiles, half of the spans, everything. Memory, queues and free disk space
 * are compared with the same steps, so the order is the same for every shortage. docs/overload.md
 * describes it for operators. */
#pragma once
#include <stdint.h>

enum sf_pressure {
    SF_PRESSURE_NONE,
    SF_PRESSURE_BASELINE, /* samples of traces that neither failed nor were slow lose their detail
                           */
    SF_PRESSURE_DETAIL,   /* all samples do */
    SF_PRESSURE_PROFILES, /* profiles are refused too */
    SF_PRESSURE_SPANS,    /* some spans are refused too: docs/overload.md says which */
    SF_PRESSURE_REFUSE    /* everything is refused: disk full, log failed, too far behind */
};

static inline enum sf_pressure sf_pressure_max(enum sf_pressure a, enum sf_pressure b)
{
    return a > b ? a : b;
}

static inline enum sf_pressure sf_pressure_min(enum sf_pressure a, enum sf_pressure b)
{
    return a < b ? a : b;
}

/* Level for something that fills up. A flush begins at 20 of 32, so all levels are above normal
 * use. */
static inline enum sf_pressure sf_pressure_of_fill(uint64_t used, uint64_t cap)
{
    uint64_t parts = cap / 32 ? used / (cap / 32) : 0;
    return parts >= 30   ? SF_PRESSURE_SPANS
           : parts >= 28 ? SF_PRESSURE_PROFILES
           : parts >= 27 ? SF_PRESSURE_DETAIL
           : parts >= 26 ? SF_PRESSURE_BASELINE
                         : SF_PRESSURE_NONE;
}

/* Level for free space of which `min_len` must remain. */
static inline enum sf_pressure sf_pressure_of_free(uint64_t free_len, uint64_t min_len)
{
    return free_len < min_len                  ? SF_PRESSURE_REFUSE
           : free_len < min_len + min_len / 16 ? SF_PRESSURE_PROFILES
           : free_len < min_len + min_len / 8  ? SF_PRESSURE_DETAIL
           : free_len < min_len + min_len / 4  ? SF_PRESSURE_BASELINE
                                               : SF_PRESSURE_NONE;
}

/* Level for the number of blocks that wait to be merged: four steps from `slow` to `refuse`. */
static inline enum sf_pressure sf_pressure_of_blocks(uint32_t n, uint32_t slow, uint32_t refuse)
{
    uint32_t step = refuse > slow ? (refuse - slow + 3) / 4 : 1;
    if (n >= refuse)
        return SF_PRESSURE_REFUSE;
    return n < slow ? SF_PRESSURE_NONE
                    : sf_pressure_min((enum sf_pressure)(SF_PRESSURE_BASELINE + (n - slow) / step),
                                      SF_PRESSURE_SPANS);
}
