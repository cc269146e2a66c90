/* coverage_thinned.h - spans whose samples were deleted by retention by outcome must not count as
 * spans without samples: coverage excludes them, and reports their number and the rule. */
#pragma once
#include "join/span_set.h"
#include "model/answer/coverage.h"
#include "store/store.h"

/* Removes those spans from `set`; adds counts and a sentence to `out`. Has no effect if the
 * service's samples carry no span ids. */
enum sf_err sf_coverage_thinned_find(struct sf_store *store, sf_str service,
                                     struct sf_span_set *set, struct sf_query_ctx *q,
                                     struct sf_coverage *out, struct sf_why *why);
/* For one span whose samples were deleted. */
bool sf_coverage_thinned_one(const struct sf_keep_state *s, struct sf_arena *req,
                             struct sf_coverage *out);
