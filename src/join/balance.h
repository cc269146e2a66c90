/* balance.h - compares the samples of a service with those attributed to its spans: how much no
 * span got.
 *
 * For every span of the service that starts in the range, its samples are found as for its flame
 * graph; their sum is compared with all samples received. That is slow, so only a limited number of
 * spans is processed; with more, the rest is unknown, and the answer says so.
 *
 * All spans can be processed part by part: a part is the beginning of the range with this many
 * spans, or as many as time allowed. Parts tile the range: sums over all parts equal those of the
 * whole range, for samples received and for samples attributed. */
#pragma once
#include "join/span_set.h"
#include "model/answer/balance.h"

#define SF_BALANCE_SPANS 1000

struct sf_balance_want {
    sf_str service, instance; /* service.instance.id; empty: of all */
    sf_str type;              /* as written by users; empty: CPU first */
    int64_t from_ns, until_ns;
    uint32_t limit; /* largest number of spans in a part, up to SF_BALANCE_SPANS; 0: all at once */
    struct sf_arena *scratch; /* for one span at a time; is reset */
};

/* The result is in q->req. NOT_FOUND: the service has profiles, but none of that type. */
enum sf_err sf_balance_make(struct sf_store *store, const struct sf_balance_want *want,
                            struct sf_query_ctx *q, struct sf_balance *out, struct sf_why *why);
