/* span_ledger.h - where a span's time went, from every profile that knows something of it. */
#pragma once
#include "exec/link_set.h"
#include "render/ledger.h"

/* Lives in q->req. NOT_FOUND: no such trace or span. */
enum sf_err sf_span_ledger_make(struct sf_store *store, sf_trace_id trace, sf_span_id span,
                                struct sf_query_ctx *q, struct sf_ledger_view *out,
                                struct sf_why *why);
