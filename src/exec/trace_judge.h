/* trace_judge.h - which traces of a granule can a pipeline match? Asked of columns, before any
 * trace is put together.
 *
 * A spanset operator needs both its sides (a negated one its right, || one of them) in the same
 * trace, each side some span its filter takes. That a trace has both is necessary, not enough; of
 * one that may lie in several places it cannot be asked, so there any side will do. */
#pragma once
#include "exec/eval.h"
#include "model/span_columns.h"

struct sf_trace_judge {
    struct sf_eval *eval;
    struct sf_arena *req;
    struct judge_node *root; /* NULL: every trace may match */
    bool is_exact;           /* of traces that lie in one place it is never wrong */
    struct sf_span_judge base;
};

/* Lives in `req`. `base` is what the store is given. NULL root when there are no conditions. */
enum sf_err sf_trace_judge_init(struct sf_trace_judge *j, struct sf_eval *eval,
                                const struct sf_pipeline *p, struct sf_arena *req,
                                struct sf_why *why);
