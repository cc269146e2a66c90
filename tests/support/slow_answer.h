/* slow_answer.h - answers as text, one line a thing, so that two can be compared and read. */
#pragma once
#include "base/buf.h"
#include "exec/metrics.h"
#include "exec/search.h"
#include "slow_metrics.h"

/* What a search answered. */
void answer_search(const struct sf_search_result *result, struct sf_buf *out);
/* What it should have: the same text. True: the query is an error on some trace. */
bool slow_search(const struct slow_traces *traces, const struct sf_search *search,
                 struct sf_arena *req, struct sf_buf *out);

/* Attributes in the order of their text: an answer may have them in any. */
void answer_attrs(struct sf_buf *out, struct sf_attrs attrs);
/* Series of both sides as text. True: the same, values but for rounding. */
bool answer_metrics_is(const struct sf_metrics_result *result, const struct slow_series_set *set,
                       struct sf_arena *req, struct sf_buf *have, struct sf_buf *want);
/* What is wrong with the exemplars of an answer, or NULL: each is a span of a trace, starts where
 * there is a sample, and none has more than `n_max`. */
const char *answer_exemplars_fault(const struct sf_metrics_result *result,
                                   const struct slow_traces *traces, uint32_t n_max);
