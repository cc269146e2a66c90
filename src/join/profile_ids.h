/* profile_ids.h - which parts of a merged profile are known to belong to which span. */
#pragma once
#include "flame/owned.h"
#include "store/store.h"

/* Uses samples taken in the time of `query`, as far as single samples are still stored. No node
 * gets more than it has in `tree`, which is the result of `query`, cut or filtered. In q->req.
 * LIMIT: there are too many. */
enum sf_err sf_profile_ids(struct sf_store *store, const struct sf_prof_query *query,
                           const struct sf_tree *tree, struct sf_query_ctx *q, struct sf_owned *out,
                           struct sf_why *why);
