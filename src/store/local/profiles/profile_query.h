/* profile_query.h - the embedded store's queries about profiles. */
#pragma once
#include "store/store.h"

enum sf_err sf_profile_flame_merge(struct sf_store *s, const struct sf_prof_query *query,
                                   struct sf_query_ctx *q, const struct sf_tree **out,
                                   struct sf_why *why);
enum sf_err sf_profile_points_read(struct sf_store *s, const struct sf_prof_query *query,
                                   const sf_str *keys, size_t n_keys, int64_t step_ns,
                                   struct sf_query_ctx *q, struct sf_prof_points *out,
                                   struct sf_why *why);
enum sf_err sf_profile_series_list(struct sf_store *s, const struct sf_prof_query *query,
                                   struct sf_query_ctx *q, struct sf_prof_list *out,
                                   struct sf_why *why);
enum sf_err sf_profile_spans_read(struct sf_store *s, sf_span_id low, sf_span_id high, size_t cap,
                                  struct sf_query_ctx *q, const struct sf_prof_span **out,
                                  size_t *out_n, struct sf_why *why);
enum sf_err sf_profile_rows_read(struct sf_store *s, const struct sf_detail_query *query,
                                 struct sf_query_ctx *q, struct sf_detail_list *out,
                                 struct sf_why *why);
enum sf_err sf_profile_sums_read(struct sf_store *s, const struct sf_detail_query *query,
                                 const struct sf_frame_test *test, struct sf_query_ctx *q,
                                 struct sf_span_costs *out, struct sf_why *why);
enum sf_err sf_profile_top_read(struct sf_store *s, const struct sf_detail_query *query,
                                const struct sf_frame_test *test, uint32_t limit,
                                struct sf_query_ctx *q, struct sf_span_top *out,
                                struct sf_why *why);
