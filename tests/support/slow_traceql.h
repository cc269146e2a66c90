/* slow_traceql.h - TraceQL the slow, obvious way: what the fast evaluator is compared with.
 *
 * Written from the language's truth tables and from nothing else: it takes the parsed query,
 * examines every span of every trace for every question, and shares no code with the evaluator it
 * judges. Memory comes from the caller's arena and a full arena ends the program: it is a test. */
#pragma once
#include "base/arena.h"
#include "model/metrics_result.h"
#include "model/search.h"
#include "model/span.h"
#include "query/ast.h"

struct slow_row { /* one span that was sent */
    struct sf_span span;
    const struct sf_resource *resource;
    const struct sf_scope *scope;
};

struct slow_trace {
    sf_trace_id id;
    const struct slow_row **spans; /* by start, span id, kind */
    uint32_t n;
    uint64_t start_ns, end_ns;
    const struct slow_row *root; /* the first without a parent id, or NULL */
    int64_t *left, *right, *up;  /* nested-set numbers; up is that of the parent, -1 for a root */
    int64_t *n_children;
};

struct slow_traces { /* newest first, ties by id */
    struct slow_trace *list;
    uint32_t n;
};

/* One copy of each span is kept: the one that ends later, then the one with more attributes. */
struct slow_traces slow_traces_make(const struct slow_row *rows, uint32_t n, struct sf_arena *req);

struct slow_attr {
    sf_str name;
    struct sf_static val;
};

struct slow_set {
    bool *has; /* one per span of the trace */
    uint32_t n;
    struct slow_attr *attrs;
    uint32_t n_attrs;
};

struct slow_sets { /* ordered by first span */
    struct slow_set *list;
    uint32_t n;
    bool is_error; /* a structural operator over several spansets */
};

struct slow_item { /* one value of an attribute: a scalar, or an array of scalars */
    bool is_array;
    struct sf_static one;
    struct sf_static *elements;
    uint32_t n;
};

struct slow_items {
    struct slow_item *list;
    uint32_t n;
};

struct slow_sets slow_pipeline(const struct sf_pipeline *p, const struct slow_trace *t,
                               struct sf_arena *req);
struct slow_items slow_values(const struct sf_query_attr *a, const struct slow_trace *t,
                              uint32_t span, struct sf_arena *req);
/* The first value that is not an array, or nil. */
struct sf_static slow_value(const struct sf_query_attr *a, const struct slow_trace *t,
                            uint32_t span, struct sf_arena *req);
struct sf_static slow_expr(const struct sf_expr *x, const struct slow_trace *t, uint32_t span,
                           struct sf_arena *req);
bool slow_is_true(const struct sf_expr *x, const struct slow_trace *t, uint32_t span,
                  struct sf_arena *req);
bool slow_compare(enum sf_expr_op op, struct sf_static a, struct sf_static b);
bool slow_static_eq(struct sf_static a, struct sf_static b); /* type and bits */
void *slow_new(struct sf_arena *req, size_t n, size_t size);
