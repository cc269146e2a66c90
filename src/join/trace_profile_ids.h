/* trace_profile_ids.h - the attribute by which Grafana offers "Profiles for this span". */
#pragma once
#include "exec/traces.h"

/* Adds pyroscope.profile.id, the span's own id, to spans of services that have profiles around the
 * trace, unless the client set one itself. Only the answer has it: no query sees it. In q->req;
 * when that is full the spans stay as they are. */
enum sf_err sf_trace_profile_ids_add(struct sf_store *store, struct sf_query_ctx *q,
                                     struct sf_trace *trace, struct sf_why *why);
