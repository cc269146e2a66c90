/* profile_union.h - profiles and samples of all nodes: the calls of store.h about profiles.
 *
 * The data that a call needs is read from every shard into a view (store/local/view.h), which also
 * contains what this node holds and has not shipped; the local store then answers from the view.
 * Two or three queries per shard. */
#pragma once
#include "store/clickhouse/remote_source.h"

enum sf_err sf_profile_union_merge(const struct sf_remote_source *r,
                                   const struct sf_prof_query *query, struct sf_query_ctx *q,
                                   const struct sf_tree **out, struct sf_why *why);
enum sf_err sf_profile_union_points(const struct sf_remote_source *r,
                                    const struct sf_prof_query *query, const sf_str *keys,
                                    size_t n_keys, int64_t step_ns, struct sf_query_ctx *q,
                                    struct sf_prof_points *out, struct sf_why *why);
enum sf_err sf_profile_union_list(const struct sf_remote_source *r,
                                  const struct sf_prof_query *query, struct sf_query_ctx *q,
                                  struct sf_prof_list *out, struct sf_why *why);
enum sf_err sf_profile_union_spans(const struct sf_remote_source *r, sf_span_id low,
                                   sf_span_id high, size_t cap, struct sf_query_ctx *q,
                                   const struct sf_prof_span **out, size_t *out_n,
                                   struct sf_why *why);
enum sf_err sf_profile_union_details(const struct sf_remote_source *r,
                                     const struct sf_detail_query *query, struct sf_query_ctx *q,
                                     struct sf_detail_list *out, struct sf_why *why);
enum sf_err sf_profile_union_sums(const struct sf_remote_source *r,
                                  const struct sf_detail_query *query,
                                  const struct sf_frame_test *test, struct sf_query_ctx *q,
                                  struct sf_span_costs *out, struct sf_why *why);
enum sf_err sf_profile_union_top(const struct sf_remote_source *r,
                                 const struct sf_detail_query *query,
                                 const struct sf_frame_test *test, uint32_t limit,
                                 struct sf_query_ctx *q, struct sf_span_top *out,
                                 struct sf_why *why);
