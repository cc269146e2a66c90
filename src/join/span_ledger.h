/* span_ledger.h - the time breakdown of a span, from all profiles that tell something about it. */
#pragma once
#include "join/link_set.h"
#include "model/answer/ledger.h"
#include "model/answer/span_profile.h"

/* The result is in q->req. NOT_FOUND: no such trace or span. */
enum sf_err sf_span_ledger_make(struct sf_store *store, sf_trace_id trace, sf_span_id span,
                                struct sf_query_ctx *q, struct sf_ledger_view *out,
                                struct sf_why *why);
/* The code behind one part of the breakdown: its total is the figure of that part. INPUT lists the
 * existing parts. */
enum sf_err sf_span_ledger_profile(struct sf_store *store, sf_trace_id trace, sf_span_id span,
                                   sf_str part, struct sf_query_ctx *q, struct sf_span_profile *out,
                                   struct sf_why *why);
