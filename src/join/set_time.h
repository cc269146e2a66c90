/* set_time.h - one graph of all the time of the spans of a query: code, waits, child spans and
 * unknown time. The mean per span equals the mean duration, as in join/explain_set.h. */
#pragma once
#include "join/cohort.h"

/* Like sf_cohort_make(), for time: the type and `is_self` of `want` are ignored. */
enum sf_err sf_set_time_make(struct sf_store *store, const struct sf_cohort_want *want,
                             struct sf_query_ctx *q, struct sf_cohort_view *out,
                             struct sf_why *why);
