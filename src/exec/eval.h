/* eval.h - a TraceQL pipeline over one trace.
 *
 * The trace is judged whole: the input is one spanset of all its spans, every stage maps spansets
 * to spansets, empty ones disappear. An evaluator belongs to one thread. */
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
    const uint32_t *spans; /* places in the view, ascending */
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
/* From now on a passed deadline and a disconnected caller are errors of the evaluator. A store
 * searches for them between granules only, and one span may take thousands of conditions. */
void sf_eval_watch(struct sf_eval *e, const struct sf_query_ctx *q);
/* What the query says of profiles, looked up; NULL: nothing. sf_eval_pipeline() shows it to its
 * views. */
struct sf_profile_conds; /* exec/profile_conds.h */
void sf_eval_set_profiles(struct sf_eval *e, const struct sf_profile_conds *profiles);
const struct sf_profile_conds *sf_eval_profiles(const struct sf_eval *e);
/* For loops over spans, once a span: false when it is time to stop, which is a fault then. */
bool sf_eval_goes_on(struct sf_eval *e);

/* Runs `pipeline` (of this evaluator's query). Results live in `req`. INPUT: spanset operators over
 * several spansets; LIMIT: memory, or a pattern that takes too long. The view is linked when a
 * stage needs its tree. */
enum sf_err sf_eval_pipeline(struct sf_eval *e, const struct sf_pipeline *pipeline,
                             struct sf_trace_view *v, struct sf_arena *req, struct sf_spansets *out,
                             struct sf_why *why);
/* Is `expr` true on this span? The first fault sticks in the evaluator: ask sf_eval_fault() at the
 * end. A view must be linked when sf_eval_expr_needs_tree() reports it. */
bool sf_eval_is_true(struct sf_eval *e, const struct sf_expr *expr, const struct sf_trace_view *v,
                     uint32_t span);
/* Of `attribute =~ "pattern"` and its !~: is it true of this value? And what every text that the
 * pattern matches holds; empty: not known. */
bool sf_eval_matches(struct sf_eval *e, const struct sf_expr *expr, sf_str text);
sf_str sf_eval_pattern_needs(const struct sf_eval *e, const struct sf_expr *expr);
/* The expression's value; strings may live in the evaluator until the next call. */
struct sf_static sf_eval_expr(struct sf_eval *e, const struct sf_expr *x,
                              const struct sf_trace_view *v, uint32_t span);
enum sf_err sf_eval_fault(const struct sf_eval *e, struct sf_why *why);
/* Does evaluating it need parents, children or nested-set numbers? */
bool sf_eval_expr_needs_tree(const struct sf_expr *expr);
