/* eval_expr.h - what an evaluator holds; private to the files named eval. */
#pragma once
#include "exec/eval.h"
#include "exec/eval_attr.h"
#include "regex/regex.h"

struct sf_eval {
    struct sf_regex **patterns; /* by expression number; NULL where there is none */
    struct {
        char text[SF_EVAL_TEXT_LEN];
    } * texts; /* by expression number: where its id, if it is one, is written */
    struct sf_regex_scratch *scratch;
    uint32_t n;
    const struct sf_query_ctx *watched;      /* may be NULL */
    const struct sf_profile_conds *profiles; /* may be NULL */
    uint32_t n_spans;                        /* until the next examine it */
    const struct sf_pipeline *asked;         /* the last one sf_eval_pipeline() was given, */
    bool asked_needs_tree;                   /* and what it needs */
    enum sf_err err;                         /* the first fault */
    struct sf_why why;
};
