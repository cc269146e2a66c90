/* trace_share.h - selects a share of all traces by the trace id alone, so that every process and
 * the server select the same ones, and a smaller share is a subset of a larger one.
 *
 * The id is mixed first (splitmix64's finaliser over both halves): trace samplers select by the
 * id's last 56 bits, and a share of what they kept must not be all or none of it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t sf_trace_share_mix(uint64_t v)
{
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    return v ^ v >> 31;
}

/* `per_10000`: 1 % is 100. */
static inline bool sf_trace_share_has(const uint8_t trace_id[16], uint32_t per_10000)
{
    uint64_t halves[2], v;
    memcpy(halves, trace_id, 16);
    v = sf_trace_share_mix(halves[0] + 0x9e3779b97f4a7c15u);
    v = sf_trace_share_mix(v ^ halves[1]);
    return (uint32_t)((unsigned __int128)v * 10000 >> 64) < per_10000;
}

/* A span whose trace is unknown is selected by its own id, with the same hash. */
static inline bool sf_span_share_has(uint64_t span_id, uint32_t per_10000)
{
    uint8_t name[16];
    memcpy(name, &span_id, 8);
    memcpy(name + 8, &span_id, 8);
    return sf_trace_share_has(name, per_10000);
}
