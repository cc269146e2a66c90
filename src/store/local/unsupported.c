#include "store/local/unsupported.h"

enum sf_err sf_unsupported_span_series(struct sf_store *s, const struct sf_span_query *query,
                                       const struct sf_group *group, int64_t step_ns,
                                       struct sf_query_ctx *q, struct sf_point_cursor **out,
                                       struct sf_why *why)
{
    (void)s, (void)query, (void)group, (void)step_ns, (void)q, (void)out;
    return sf_fail(why, SF_ERR_UNSUPPORTED, "series are computed from a scan");
}
