/* spans_profile.h - the merged profile of spans that are given by their ids only. */
#pragma once
#include "store/store.h"

#define SF_SPANS_PROFILE_MAX 16 /* more are merged by the ids their samples carry, nothing else */

/* Each span's profile is what its own flame graph shows: its samples and those of spans below it in
 * its process, or its share of what a request's first span was tagged with. `query` names the
 * spans, the type and the times in which they ran; spans that are not there, or of a service the
 * query's labels rule out, come from the samples that carry their ids. *out_is_estimate: some of
 * it may belong to others. In q->req; `scratch` is reset. */
enum sf_err sf_spans_profile_merge(struct sf_store *store, const struct sf_prof_query *query,
                                   struct sf_arena *scratch, struct sf_query_ctx *q,
                                   const struct sf_tree **out, bool *out_is_estimate,
                                   struct sf_why *why);
