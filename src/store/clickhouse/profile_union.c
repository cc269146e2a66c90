#include "store/clickhouse/profile_union.h"

#include "store/clickhouse/profile_gather.h"

static struct sf_detail_query details_of(const struct sf_prof_query *query)
{
    return (struct sf_detail_query){.type = query->type,
                                    .match = query->match,
                                    .n_match = query->n_match,
                                    .span_ids = query->span_ids,
                                    .n_spans = query->n_spans,
                                    .trace_ids = query->trace_ids,
                                    .n_traces = query->n_traces,
                                    .process = query->process,
                                    .from_ns = query->from_ns,
                                    .to_ns = query->to_ns,
                                    .select = query->select};
}

enum sf_err sf_profile_union_merge(const struct sf_remote_source *r,
                                   const struct sf_prof_query *query, struct sf_query_ctx *q,
                                   const struct sf_tree **out, struct sf_why *why)
{
    struct sf_detail_query details = details_of(query);
    /* Single profiles are selected by id, and those that overlap the range are prorated. */
    bool is_each = query->n_profiles || query->select != SF_PROF_RANGE;
    struct sf_profile_gather g;
    enum sf_err err = sf_profile_gather_open(&g, r, q, why);
    if (err)
        return err;
    if (query->n_spans || query->n_traces)
        err = sf_profile_gather_details(&g, &details, true, why);
    else
        err = sf_profile_gather_profiles(&g, query, is_each ? SF_GATHER_EACH : SF_GATHER_SUMMED,
                                         why);
    if (!err)
        err = r->own_ops->prof_merge(g.view, query, q, out, why);
    sf_profile_gather_close(&g);
    return err;
}

enum sf_err sf_profile_union_points(const struct sf_remote_source *r,
                                    const struct sf_prof_query *query, const sf_str *keys,
                                    size_t n_keys, int64_t step_ns, struct sf_query_ctx *q,
                                    struct sf_prof_points *out, struct sf_why *why)
{
    struct sf_profile_gather g;
    enum sf_err err = sf_profile_gather_open(&g, r, q, why);
    if (err)
        return err;
    err = sf_profile_gather_profiles(&g, query, query->stacks ? SF_GATHER_EACH : SF_GATHER_TOTALS,
                                     why);
    if (!err)
        err = r->own_ops->prof_points(g.view, query, keys, n_keys, step_ns, q, out, why);
    sf_profile_gather_close(&g);
    return err;
}

enum sf_err sf_profile_union_list(const struct sf_remote_source *r,
                                  const struct sf_prof_query *query, struct sf_query_ctx *q,
                                  struct sf_prof_list *out, struct sf_why *why)
{
    struct sf_profile_gather g;
    enum sf_err err = sf_profile_gather_open(&g, r, q, why);
    if (err)
        return err;
    err = sf_profile_gather_profiles(&g, query, SF_GATHER_TOTALS, why);
    if (!err)
        err = r->own_ops->prof_list(g.view, query, q, out, why);
    sf_profile_gather_close(&g);
    return err;
}

enum sf_err sf_profile_union_spans(const struct sf_remote_source *r, sf_span_id low,
                                   sf_span_id high, size_t cap, struct sf_query_ctx *q,
                                   const struct sf_prof_span **out, size_t *out_n,
                                   struct sf_why *why)
{
    struct sf_profile_gather g;
    enum sf_err err = sf_profile_gather_open(&g, r, q, why);
    if (err)
        return err;
    err = sf_profile_gather_spans(&g, low, high, cap, why);
    if (!err)
        err = r->own_ops->prof_spans(g.view, low, high, cap, q, out, out_n, why);
    sf_profile_gather_close(&g);
    return err;
}

enum sf_err sf_profile_union_details(const struct sf_remote_source *r,
                                     const struct sf_detail_query *query, struct sf_query_ctx *q,
                                     struct sf_detail_list *out, struct sf_why *why)
{
    struct sf_profile_gather g;
    enum sf_err err = sf_profile_gather_open(&g, r, q, why);
    if (err)
        return err;
    err = sf_profile_gather_details(&g, query, true, why);
    if (!err)
        err = r->own_ops->detail_list(g.view, query, q, out, why);
    sf_profile_gather_close(&g);
    return err;
}

enum sf_err sf_profile_union_sums(const struct sf_remote_source *r,
                                  const struct sf_detail_query *query,
                                  const struct sf_frame_test *test, struct sf_query_ctx *q,
                                  struct sf_span_costs *out, struct sf_why *why)
{
    struct sf_profile_gather g;
    enum sf_err err = sf_profile_gather_open(&g, r, q, why);
    if (err)
        return err;
    err = sf_profile_gather_details(&g, query, test != NULL, why);
    if (!err)
        err = r->own_ops->detail_sums(g.view, query, test, q, out, why);
    sf_profile_gather_close(&g);
    return err;
}

enum sf_err sf_profile_union_top(const struct sf_remote_source *r,
                                 const struct sf_detail_query *query,
                                 const struct sf_frame_test *test, uint32_t limit,
                                 struct sf_query_ctx *q, struct sf_span_top *out,
                                 struct sf_why *why)
{
    struct sf_profile_gather g;
    enum sf_err err = sf_profile_gather_open(&g, r, q, why);
    if (err)
        return err;
    err = sf_profile_gather_details(&g, query, test != NULL, why);
    if (!err)
        err = r->own_ops->detail_top(g.view, query, test, limit, q, out, why);
    sf_profile_gather_close(&g);
    return err;
}
