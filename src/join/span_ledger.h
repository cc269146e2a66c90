/* span_ledger.h - where a span's time went, from every profile that knows something of it. */
#pragma once
#include "join/link_set.h"
#include "model/answer/ledger.h"
#include "model/answer/span_profile.h"

/* Lives in q->req. NOT_FOUND: no such trace or span. */
enum sf_err sf_span_ledger_make(struct sf_store *store, sf_trace_id trace, sf_span_id span,
                                struct sf_query_ctx *q, struct sf_ledger_view *out,
                                struct sf_why *why);
/* The code behind one part of the ledger: its total is the ledger's figure. INPUT names the parts
 * there are. */
enum sf_err sf_span_ledger_profile(struct sf_store *store, sf_trace_id trace, sf_span_id span,
                                   sf_str part, struct sf_query_ctx *q, struct sf_span_profile *out,
                                   struct sf_why *why);
