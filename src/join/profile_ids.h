/* profile_ids.h - which part of a merged profile is known to be of which span. */
#pragma once
#include "flame/owned.h"
#include "store/store.h"

/* Of samples that were taken in the time of `query`, as far as single samples are still there. No
 * node gets more than it has in `tree`, which is the merge that `query` gave, cut or filtered. In
 * q->req. LIMIT: there are too many. */
enum sf_err sf_profile_ids(struct sf_store *store, const struct sf_prof_query *query,
                           const struct sf_tree *tree, struct sf_query_ctx *q, struct sf_owned *out,
                           struct sf_why *why);
