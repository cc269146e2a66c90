/* coverage_thinned.h - spans whose samples were removed by outcome are not spans without samples:
 * coverage leaves them out of what it expects, and says how many they are and by which rule. */
#pragma once
#include "join/span_set.h"
#include "model/answer/coverage.h"
#include "store/store.h"

/* Takes those spans out of `set`; counts and a sentence into `out`. A service whose samples name no
 * spans has lost nothing that coverage is about. */
enum sf_err sf_coverage_thinned_find(struct sf_store *store, sf_str service,
                                     struct sf_span_set *set, struct sf_query_ctx *q,
                                     struct sf_coverage *out, struct sf_why *why);
/* Of one span, whose samples are thinned. */
bool sf_coverage_thinned_one(const struct sf_keep_state *s, struct sf_arena *req,
                             struct sf_coverage *out);
