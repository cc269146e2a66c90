/* sampler.h - the trace sampler: OTEL_TRACES_SAMPLER and its argument. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct sf_sampler {
    bool is_parent_based; /* follow the parent's decision */
    uint64_t threshold;   /* of 2^56: traces whose last 7 id bytes are at or above it are kept */
};

/* always_on, always_off, traceidratio, and each prefixed with parentbased_; false: another name, or
 * a ratio outside of 0 to 1. */
bool sf_sampler_parse(sf_str name, sf_str arg, struct sf_sampler *out);

static inline bool sf_sampler_keeps(const struct sf_sampler *s, const uint8_t trace_id[16],
                                    bool has_parent, bool is_parent_sampled)
{
    uint64_t chance = 0;
    if (has_parent && s->is_parent_based)
        return is_parent_sampled;
    for (int i = 9; i < 16; i++)
        chance = chance << 8 | trace_id[i];
    return chance >= s->threshold;
}
