/* trace_profile_ids.h - adds the attribute that makes Grafana offer "Profiles for this span". */
#pragma once
#include "exec/traces.h"

/* Adds pyroscope.profile.id, the span's own id, to spans of services that have profiles around the
 * trace, unless the client set it. It is only in the answer: queries do not see it. In q->req; if
 * that is full, the spans stay unchanged. */
enum sf_err sf_trace_profile_ids_add(struct sf_store *store, struct sf_query_ctx *q,
                                     struct sf_trace *trace, struct sf_why *why);
