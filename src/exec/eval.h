/* eval.h - evaluates a TraceQL pipeline over one trace.
 *
 * The input is one spanset with all spans of the trace; every stage maps spansets to spansets, and
 * empty ones are dropped. An evaluator belongs to one thread. */
#pragma once
#include "exec/trace_view.h"
#include "query/ast.h"
#include "store/store.h"

struct sf_eval;

struct sf_spanset_attr { /* what by() and aggregates add to a spanset */
    sf_str name;
    struct sf_static val;
};

struct sf_spanset_result {
    const uint32_t *spans; /* indexes in the view, ascending */
    uint32_t n_spans;
    const struct sf_spanset_attr *attrs;
    uint32_t n_attrs;
};

struct sf_spansets {
    const struct sf_spanset_result *list; /* ordered by first span */
    uint32_t n;
};

/* Compiles the query's patterns. `query` must outlive the evaluator. */
enum sf_err sf_eval_new(const struct sf_query *query, struct sf_eval **out, struct sf_why *why);
void sf_eval_free(struct sf_eval *e); /* NULL is fine */
/* From now on a passed deadline and a disconnected caller are errors of the evaluator. The store
 * checks for them only between granules, and one span may need thousands of conditions. */
void sf_eval_watch(struct sf_eval *e, const struct sf_query_ctx *q);
/* The loaded conditions on profiles of the query; NULL: none. sf_eval_pipeline() applies them to
 * its views. */
struct sf_profile_conds; /* exec/profile_conds.h */
void sf_eval_set_profiles(struct sf_eval *e, const struct sf_profile_conds *profiles);
const struct sf_profile_conds *sf_eval_profiles(const struct sf_eval *e);
/* Call in loops over spans, once per span: false when the evaluation must stop, which is an
 * error. */
bool sf_eval_goes_on(struct sf_eval *e);

/* Runs `pipeline` (of this evaluator's query). Results live in `req`. INPUT: spanset operators over
 * several spansets; LIMIT: memory, or a pattern that takes too long. The view is linked when a
 * stage needs its tree. */
enum sf_err sf_eval_pipeline(struct sf_eval *e, const struct sf_pipeline *pipeline,
                             struct sf_trace_view *v, struct sf_arena *req, struct sf_spansets *out,
                             struct sf_why *why);
/* Is `expr` true for this span? The first error is kept in the evaluator: call sf_eval_fault() at
 * the end. The view must be linked if sf_eval_expr_needs_tree() is true. */
bool sf_eval_is_true(struct sf_eval *e, const struct sf_expr *expr, const struct sf_trace_view *v,
                     uint32_t span);
/* For `attribute =~ "pattern"` and !~: is it true for this value? The second function: a text that
 * every match of the pattern contains; empty: unknown. */
bool sf_eval_matches(struct sf_eval *e, const struct sf_expr *expr, sf_str text);
sf_str sf_eval_pattern_needs(const struct sf_eval *e, const struct sf_expr *expr);
/* The expression's value; strings may be stored in the evaluator until the next call. */
struct sf_static sf_eval_expr(struct sf_eval *e, const struct sf_expr *x,
                              const struct sf_trace_view *v, uint32_t span);
enum sf_err sf_eval_fault(const struct sf_eval *e, struct sf_why *why);
/* Does evaluating it need parents, children or nested-set numbers? */
bool sf_eval_expr_needs_tree(const struct sf_expr *expr);
