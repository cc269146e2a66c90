/* trace_time.h - a whole request as one graph of time: code, and waits as frames.
 *
 * The bars are those of link/trace_flame.h; each is as wide as its span's weight, divided among the
 * parts of the span's time breakdown, children apart. Nothing is left white above a bar: what is
 * not known is a frame, too. */
#pragma once
#include "join/link_set.h"

/* `weights_ns`: of each span of the trace, as sf_trace_flame_input has them. In q->req. */
enum sf_err sf_trace_time_make(struct sf_store *store, sf_trace_id trace,
                               const uint64_t *weights_ns, struct sf_query_ctx *q,
                               struct sf_tree *out, struct sf_why *why);
