/* unsupported.h - what the embedded store does not do yet, said in a sentence: profiles, and series
 * that are computed from a scan. */
#pragma once
#include "store/store.h"

enum sf_err sf_local_span_series(struct sf_store *s, const struct sf_span_query *query,
                                 const struct sf_group *group, int64_t step_ns,
                                 struct sf_query_ctx *q, struct sf_point_cursor **out,
                                 struct sf_why *why);
enum sf_err sf_local_span_exists(struct sf_store *s, const sf_span_id *span_ids, size_t n_spans,
                                 int64_t from_ns, int64_t to_ns, struct sf_query_ctx *q, bool *out,
                                 struct sf_why *why);
enum sf_err sf_local_prof_merge(struct sf_store *s, const struct sf_prof_query *query,
                                struct sf_query_ctx *q, const struct sf_tree **out,
                                struct sf_why *why);
enum sf_err sf_local_prof_series(struct sf_store *s, const struct sf_prof_query *query,
                                 const struct sf_group *group, int64_t step_ns,
                                 struct sf_query_ctx *q, struct sf_point_cursor **out,
                                 struct sf_why *why);
enum sf_err sf_local_prof_types(struct sf_store *s, const struct sf_label_query *query,
                                struct sf_query_ctx *q, struct sf_str_cursor **out,
                                struct sf_why *why);
enum sf_err sf_local_prof_labels(struct sf_store *s, const struct sf_label_query *query,
                                 struct sf_query_ctx *q, struct sf_str_cursor **out,
                                 struct sf_why *why);
enum sf_err sf_local_prof_label_sets(struct sf_store *s, const struct sf_label_query *query,
                                     const sf_str *names, size_t n_names, struct sf_query_ctx *q,
                                     const struct sf_label_sets **out, struct sf_why *why);
enum sf_err sf_local_detail_scan(struct sf_store *s, const struct sf_detail_query *query,
                                 struct sf_query_ctx *q, struct sf_detail_cursor **out,
                                 struct sf_why *why);
enum sf_err sf_local_pin(struct sf_store *s, uint32_t tenant, sf_trace_id id, int64_t until_ns,
                         struct sf_why *why);

#define SF_LOCAL_UNSUPPORTED                                                          \
    .span_series = sf_local_span_series, .span_exists = sf_local_span_exists,         \
    .prof_merge = sf_local_prof_merge, .prof_series = sf_local_prof_series,           \
    .prof_types = sf_local_prof_types, .prof_labels = sf_local_prof_labels,           \
    .prof_label_sets = sf_local_prof_label_sets, .detail_scan = sf_local_detail_scan, \
    .pin = sf_local_pin
