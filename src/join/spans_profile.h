/* spans_profile.h - the merged profile of spans given by id. */
#pragma once
#include "store/store.h"

#define SF_SPANS_PROFILE_MAX 16 /* more spans are merged only by the ids that samples carry */

/* The profile of each span is that of its own flame graph: its samples and those of its descendants
 * in its process, or its share of the samples tagged with the first span of the request. `query`
 * has the spans, the type and the time range; spans that are not stored, or of a service that the
 * query's labels exclude, are taken from the samples that carry their ids. *out_is_estimate: some
 * of it may belong to other spans. In q->req; `scratch` is reset. */
enum sf_err sf_spans_profile_merge(struct sf_store *store, const struct sf_prof_query *query,
                                   struct sf_arena *scratch, struct sf_query_ctx *q,
                                   const struct sf_tree **out, bool *out_is_estimate,
                                   struct sf_why *why);
