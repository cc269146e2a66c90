/* traceql_make.h - random traces with everything TraceQL must cope with, the same for a seed.
 *
 * Few names, keys and values, so that random conditions meet; attributes that are missing, of other
 * types, arrays (mixed and empty ones too), lists; orphans, several roots, none, cycles, ids shared
 * by two or three spans; repeated spans; traces that start together; times that are far away or
 * turned round. Odd seeds have durations of multiples of 1/512 s and small integers only: their
 * sums are exact in whatever order they are taken. */
#pragma once
#include "slow_traceql.h"

enum { TRACEQL_MAKE_RESOURCES = 8, TRACEQL_MAKE_SCOPES = 5, TRACEQL_MAKE_SPANS = 64 };
#define TRACEQL_MAKE_UNIT_NS UINT64_C(1953125)

struct traceql_make {
    uint64_t rng;
    uint64_t base_ns; /* traces start in the three hours after it */
    uint64_t n_ids;
    uint64_t last_start_ns;
    bool is_exact;
    struct sf_arena *keep;
    struct sf_resource resources[TRACEQL_MAKE_RESOURCES];
    struct sf_scope scopes[TRACEQL_MAKE_SCOPES];
    sf_trace_id last_id;
};

void traceql_make_init(struct traceql_make *m, uint64_t seed, uint64_t base_ns,
                       struct sf_arena *keep);
uint64_t traceql_make_below(struct traceql_make *m, uint64_t n);
/* The rows of one more trace, copies among them; at most TRACEQL_MAKE_SPANS. */
uint32_t traceql_make_trace(struct traceql_make *m, struct slow_row *out);
/* One more span of a trace that is there: late. */
struct slow_row traceql_make_late(struct traceql_make *m, const struct slow_row *sibling);
