/* set_time.h - all time of the spans of a query as one graph: code, waits, child spans and what is
 * unknown. The mean per span comes to the mean duration, as in join/explain_set.h. */
#pragma once
#include "join/cohort.h"

/* As sf_cohort_make(), of time: the type and `is_self` of `want` are not examined. */
enum sf_err sf_set_time_make(struct sf_store *store, const struct sf_cohort_want *want,
                             struct sf_query_ctx *q, struct sf_cohort_view *out,
                             struct sf_why *why);
