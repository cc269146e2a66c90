/* ast.h - a TraceQL query as a checked tree.
 *
 * Built by query_parse.h in one arena and never changed afterwards; threads may share it. Every
 * node stores the position of its first character, for errors. */
#pragma once
#include "base/str.h"
#include "model/select.h"

struct sf_place { /* both 1-based; columns are bytes */
    uint32_t line, column;
};

/* ---- values ---- */

enum sf_static_type {
    SF_TYPE_NIL, /* no value */
    SF_TYPE_INT,
    SF_TYPE_FLOAT,
    SF_TYPE_DURATION, /* ns in i64 */
    SF_TYPE_STRING,
    SF_TYPE_BOOL,
    SF_TYPE_STATUS, /* enum sf_status in i64 */
    SF_TYPE_KIND,   /* enum sf_span_kind in i64 */
    SF_TYPE_UNKNOWN /* of an attribute: known only at run time */
};

struct sf_static {
    enum sf_static_type type;
    union {
        int64_t i64;
        double f64;
        sf_str str;
        bool is_true;
    };
};

/* ---- attributes ---- */

enum sf_intrinsic {
    SF_INTRINSIC_NONE,
    SF_INTRINSIC_NAME,
    SF_INTRINSIC_DURATION,
    SF_INTRINSIC_STATUS,
    SF_INTRINSIC_STATUS_MESSAGE,
    SF_INTRINSIC_KIND,
    SF_INTRINSIC_SPAN_ID,
    SF_INTRINSIC_PARENT_ID,
    SF_INTRINSIC_CHILD_COUNT,
    SF_INTRINSIC_TRACE_DURATION,
    SF_INTRINSIC_ROOT_NAME,
    SF_INTRINSIC_ROOT_SERVICE,
    SF_INTRINSIC_TRACE_ID,
    SF_INTRINSIC_EVENT_NAME,
    SF_INTRINSIC_EVENT_TIME,
    SF_INTRINSIC_LINK_TRACE_ID,
    SF_INTRINSIC_LINK_SPAN_ID,
    SF_INTRINSIC_SCOPE_NAME,
    SF_INTRINSIC_SCOPE_VERSION,
    SF_INTRINSIC_NESTED_LEFT,
    SF_INTRINSIC_NESTED_RIGHT,
    SF_INTRINSIC_NESTED_PARENT,
    /* Our extension: conditions on a span's samples. */
    SF_INTRINSIC_PROFILE_FRAME,
    SF_INTRINSIC_PROFILE_CPU,
    SF_INTRINSIC_PROFILE_WALL,
    SF_INTRINSIC_PROFILE_LOCK,
    SF_INTRINSIC_PROFILE_BLOCK,
    SF_INTRINSIC_PROFILE_OFF_CPU,
    SF_INTRINSIC_PROFILE_ALLOC,
    SF_INTRINSICS
};

static inline bool sf_intrinsic_is_profile(enum sf_intrinsic i)
{
    return i >= SF_INTRINSIC_PROFILE_FRAME && i <= SF_INTRINSIC_PROFILE_ALLOC;
}

struct sf_query_attr {
    enum sf_attr_scope scope; /* SF_SCOPE_INTRINSIC: see `intrinsic` */
    enum sf_intrinsic intrinsic;
    sf_str name;
};

/* ---- field expressions: what stands between { and } ---- */

enum sf_expr_kind { SF_EXPR_LITERAL, SF_EXPR_ATTR, SF_EXPR_UNARY, SF_EXPR_BINARY };

enum sf_expr_op {
    SF_EXPR_EQ,
    SF_EXPR_NE,
    SF_EXPR_LT,
    SF_EXPR_LE,
    SF_EXPR_GT,
    SF_EXPR_GE,
    SF_EXPR_MATCH,
    SF_EXPR_NO_MATCH,
    SF_EXPR_AND,
    SF_EXPR_OR,
    SF_EXPR_ADD,
    SF_EXPR_SUB,
    SF_EXPR_MUL,
    SF_EXPR_DIV,
    SF_EXPR_MOD,
    SF_EXPR_POW,
    SF_EXPR_NOT, /* unary */
    SF_EXPR_NEG, /* unary */
    SF_EXPR_OPS
};

struct sf_expr {
    enum sf_expr_kind kind;
    enum sf_expr_op op;
    enum sf_static_type type; /* as far as known while parsing */
    struct sf_place place;    /* of its first character */
    uint32_t number;          /* of this node in the query, by which evaluators store per-node
                               * state */
    uint32_t height;          /* height of the tree below: 1 for a leaf, at most SF_QUERY_HEIGHT */
    struct sf_static literal;
    struct sf_query_attr attr;
    const struct sf_expr *left, *right; /* UNARY uses left */
};

/* ---- spansets and pipelines ---- */

enum sf_spanset_op {
    SF_SPANSET_FILTER,   /* { expr }, a leaf */
    SF_SPANSET_PIPELINE, /* ( stage | stage ), a leaf */
    SF_SPANSET_AND,
    SF_SPANSET_OR,
    SF_SPANSET_CHILD,      /* > : the right side is a child of the left */
    SF_SPANSET_DESCENDANT, /* >> */
    SF_SPANSET_PARENT,     /* < */
    SF_SPANSET_ANCESTOR,   /* << */
    SF_SPANSET_SIBLING,    /* ~ */
    SF_SPANSET_OPS
};

enum sf_spanset_form { SF_FORM_PLAIN, SF_FORM_NOT, SF_FORM_UNION }; /* >, !>, &> */

struct sf_pipeline;

struct sf_spanset {
    enum sf_spanset_op op;
    enum sf_spanset_form form;
    struct sf_place place;
    uint32_t height;              /* like that of expressions, which are not included */
    const struct sf_expr *filter; /* FILTER; NULL: { } */
    const struct sf_pipeline *pipeline;
    const struct sf_spanset *left, *right;
};

enum sf_aggregate { SF_AGG_COUNT, SF_AGG_SUM, SF_AGG_AVG, SF_AGG_MIN, SF_AGG_MAX };

enum sf_stage_kind {
    SF_STAGE_SPANSET,
    SF_STAGE_AGGREGATE,
    SF_STAGE_BY,
    SF_STAGE_SELECT,
    SF_STAGE_COALESCE
};

struct sf_stage {
    enum sf_stage_kind kind;
    struct sf_place place;
    const struct sf_spanset *spanset;
    enum sf_aggregate aggregate; /* AGGREGATE: aggregate(expr) cmp literal */
    enum sf_expr_op cmp;
    struct sf_static literal;
    const struct sf_expr *expr;        /* AGGREGATE (NULL for count) and BY */
    const struct sf_query_attr *attrs; /* SELECT */
    uint32_t n_attrs;
    sf_str text; /* "avg(duration)", "by(kind)": name of its value in answers */
};

struct sf_pipeline {
    const struct sf_stage *stages;
    uint32_t n_stages;
};

/* ---- metrics ---- */

enum sf_metric_fn {
    SF_FN_RATE,
    SF_FN_COUNT,
    SF_FN_MIN,
    SF_FN_MAX,
    SF_FN_SUM,
    SF_FN_AVG,
    SF_FN_QUANTILE,
    SF_FN_HISTOGRAM,
    SF_FN_COMPARE,
    SF_FNS
};

struct sf_metric {
    enum sf_metric_fn fn;
    struct sf_query_attr attr; /* for min, max, sum, avg, quantile, histogram */
    const double *quantiles;
    uint32_t n_quantiles;
    const struct sf_query_attr *by;
    uint32_t n_by;
    const struct sf_expr *selection; /* compare; NULL: { } */
    uint32_t top_n;
    int64_t from_ns, to_ns; /* compare; 0 and 0: not given */
};

enum sf_second_kind { SF_SECOND_TOPK, SF_SECOND_BOTTOMK, SF_SECOND_CMP };

struct sf_second {
    enum sf_second_kind kind;
    uint32_t k;
    enum sf_expr_op cmp;
    double value; /* a duration is in seconds */
};

enum sf_metrics_kind { SF_METRICS_QUERY, SF_METRICS_NUMBER, SF_METRICS_BINARY };

struct sf_metrics { /* a metrics query, or arithmetic over several */
    enum sf_metrics_kind kind;
    struct sf_place place;
    uint32_t height;
    const struct sf_pipeline *pipeline;
    struct sf_metric metric;
    double number;
    enum sf_expr_op op; /* ADD, SUB, MUL, DIV */
    const struct sf_metrics *left, *right;
    const struct sf_second *seconds; /* applied to this node's result, in order */
    uint32_t n_seconds;
};

struct sf_hint {
    sf_str name;
    struct sf_static val;
};

struct sf_query {
    const struct sf_pipeline *pipeline; /* a search; NULL: metrics */
    const struct sf_metrics *metrics;
    const struct sf_hint *hints;
    uint32_t n_hints;
    uint32_t n_exprs; /* numbers given to expressions: 0 ... n_exprs - 1 */
};
