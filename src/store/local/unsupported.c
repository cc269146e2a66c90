#include "store/local/unsupported.h"

static enum sf_err no_profiles(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_UNSUPPORTED, "this server does not keep profiles yet");
}

enum sf_err sf_local_span_series(struct sf_store *s, const struct sf_span_query *query,
                                 const struct sf_group *group, int64_t step_ns,
                                 struct sf_query_ctx *q, struct sf_point_cursor **out,
                                 struct sf_why *why)
{
    (void)s, (void)query, (void)group, (void)step_ns, (void)q, (void)out;
    return sf_fail(why, SF_ERR_UNSUPPORTED, "series are computed from a scan");
}

enum sf_err sf_local_span_exists(struct sf_store *s, const sf_span_id *span_ids, size_t n_spans,
                                 int64_t from_ns, int64_t to_ns, struct sf_query_ctx *q, bool *out,
                                 struct sf_why *why)
{
    (void)s, (void)span_ids, (void)n_spans, (void)from_ns, (void)to_ns, (void)q, (void)out;
    return no_profiles(why);
}

enum sf_err sf_local_prof_merge(struct sf_store *s, const struct sf_prof_query *query,
                                struct sf_query_ctx *q, const struct sf_tree **out,
                                struct sf_why *why)
{
    (void)s, (void)query, (void)q, (void)out;
    return no_profiles(why);
}

enum sf_err sf_local_prof_series(struct sf_store *s, const struct sf_prof_query *query,
                                 const struct sf_group *group, int64_t step_ns,
                                 struct sf_query_ctx *q, struct sf_point_cursor **out,
                                 struct sf_why *why)
{
    (void)s, (void)query, (void)group, (void)step_ns, (void)q, (void)out;
    return no_profiles(why);
}

enum sf_err sf_local_prof_types(struct sf_store *s, const struct sf_label_query *query,
                                struct sf_query_ctx *q, struct sf_str_cursor **out,
                                struct sf_why *why)
{
    (void)s, (void)query, (void)q, (void)out;
    return no_profiles(why);
}

enum sf_err sf_local_prof_labels(struct sf_store *s, const struct sf_label_query *query,
                                 struct sf_query_ctx *q, struct sf_str_cursor **out,
                                 struct sf_why *why)
{
    (void)s, (void)query, (void)q, (void)out;
    return no_profiles(why);
}

enum sf_err sf_local_prof_label_sets(struct sf_store *s, const struct sf_label_query *query,
                                     const sf_str *names, size_t n_names, struct sf_query_ctx *q,
                                     const struct sf_label_sets **out, struct sf_why *why)
{
    (void)s, (void)query, (void)names, (void)n_names, (void)q, (void)out;
    return no_profiles(why);
}

enum sf_err sf_local_detail_scan(struct sf_store *s, const struct sf_detail_query *query,
                                 struct sf_query_ctx *q, struct sf_detail_cursor **out,
                                 struct sf_why *why)
{
    (void)s, (void)query, (void)q, (void)out;
    return no_profiles(why);
}

enum sf_err sf_local_pin(struct sf_store *s, uint32_t tenant, sf_trace_id id, int64_t until_ns,
                         struct sf_why *why)
{
    (void)s, (void)tenant, (void)id, (void)until_ns;
    return no_profiles(why);
}
