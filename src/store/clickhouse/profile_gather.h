/* profile_gather.h - reads profiles and samples of all shards into a view. */
#pragma once
#include "store/clickhouse/remote_source.h"

struct sf_profile_gather {
    const struct sf_remote_source *r;
    struct sf_query_ctx *q;
    struct sf_store *view;
    uint64_t after_lsn; /* records of this node after this one are already in the view */
};

/* Opens the view, which contains the data that this node has not shipped. */
enum sf_err sf_profile_gather_open(struct sf_profile_gather *g, const struct sf_remote_source *r,
                                   struct sf_query_ctx *q, struct sf_why *why);
void sf_profile_gather_close(struct sf_profile_gather *g);

/* Which stacks of profiles are needed. */
enum sf_gather_stacks {
    SF_GATHER_TOTALS, /* none: sums of profiles */
    SF_GATHER_SUMMED, /* of all profiles of the range together */
    SF_GATHER_EACH    /* of each profile */
};
enum sf_err sf_profile_gather_profiles(struct sf_profile_gather *g,
                                       const struct sf_prof_query *query,
                                       enum sf_gather_stacks stacks, struct sf_why *why);
/* Samples with ids or times of their own. Without stacks, all get an empty one. */
enum sf_err sf_profile_gather_details(struct sf_profile_gather *g,
                                      const struct sf_detail_query *query, bool has_stacks,
                                      struct sf_why *why);
/* One sample for each of up to `cap` spans and services. */
enum sf_err sf_profile_gather_spans(struct sf_profile_gather *g, sf_span_id low, sf_span_id high,
                                    size_t cap, struct sf_why *why);
