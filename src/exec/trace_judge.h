/* trace_judge.h - which traces of a granule can a pipeline match? Decided from columns, before any
 * trace is assembled.
 *
 * A spanset operator needs both its sides (a negated one its right side, || one of them) in the
 * same trace; each side needs a span that its filter matches. That a trace has both is necessary,
 * not sufficient. For a trace that may have rows elsewhere, too, this cannot be decided, so one
 * side is enough. */
#pragma once
#include "exec/eval.h"
#include "model/span_columns.h"

struct sf_trace_judge {
    struct sf_eval *eval;
    struct sf_arena *req;
    struct judge_node *root; /* NULL: every trace may match */
    bool is_exact;           /* never wrong for traces that are in one granule only */
    struct sf_span_judge base;
};

/* Allocated in `req`. `base` is what the store is given. NULL root if there are no conditions. */
enum sf_err sf_trace_judge_init(struct sf_trace_judge *j, struct sf_eval *eval,
                                const struct sf_pipeline *p, struct sf_arena *req,
                                struct sf_why *why);
