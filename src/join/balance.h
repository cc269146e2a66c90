/* balance.h - what of a service's samples its spans got, and what no span got.
 *
 * Every span of the service that starts in the range is queried for its own samples, as its flame
 * graph would be; what they have together is compared with what came in. That is slow, so only a
 * limited number of spans is checked; with more the rest is not known, and the answer reports it.
 *
 * All of them can be checked part by part: a part is the beginning of the range with this many
 * spans, or as many as time allowed. Parts tile the range: sums over all parts are those of the
 * whole, what came in and what spans got alike. */
#pragma once
#include "join/span_set.h"
#include "model/answer/balance.h"

#define SF_BALANCE_SPANS 1000

struct sf_balance_want {
    sf_str service, instance; /* service.instance.id; empty: of all */
    sf_str type;              /* as people write it; empty: CPU first */
    int64_t from_ns, until_ns;
    uint32_t limit;           /* of spans in a part, up to SF_BALANCE_SPANS; 0: all at once */
    struct sf_arena *scratch; /* for one span at a time; reset */
};

/* Lives in q->req. NOT_FOUND: the service has profiles, and none of that type. */
enum sf_err sf_balance_make(struct sf_store *store, const struct sf_balance_want *want,
                            struct sf_query_ctx *q, struct sf_balance *out, struct sf_why *why);
