/* trace_time.h - one graph of all the time of a trace: code, and waits as frames.
 *
 * The bars are those of link/trace_flame.h; each is as wide as its span's weight, divided among the
 * parts of the span's time breakdown, without children. Every bar is completely covered: unknown
 * time is a frame, too. */
#pragma once
#include "join/link_set.h"

/* `weights_ns`: by span of the trace, as in sf_trace_flame_input. In q->req. */
enum sf_err sf_trace_time_make(struct sf_store *store, sf_trace_id trace,
                               const uint64_t *weights_ns, struct sf_query_ctx *q,
                               struct sf_tree *out, struct sf_why *why);
