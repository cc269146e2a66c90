/* slow_answer.h - answers as text, one line a thing, so that two can be compared and read. */
#pragma once
#include "base/buf.h"
#include "exec/metrics.h"
#include "exec/search.h"
#include "slow_traceql.h"

/* What a search answered. */
void answer_search(const struct sf_search_result *result, struct sf_buf *out);
/* What it should have: the same text. True: the query is an error on some trace. */
bool slow_search(const struct slow_traces *traces, const struct sf_search *search,
                 struct sf_arena *req, struct sf_buf *out);
