/* eval_expr.h - the state of an evaluator; private to the files named eval. */
#pragma once
#include "exec/eval.h"
#include "exec/eval_attr.h"
#include "regex/regex.h"

struct sf_eval {
    struct sf_regex **patterns; /* by expression number; NULL: no pattern */
    struct {
        char text[SF_EVAL_TEXT_LEN];
    } * texts; /* by expression number: text of its id, if it is one */
    struct sf_regex_scratch *scratch;
    uint32_t n;
    const struct sf_query_ctx *watched;      /* may be NULL */
    const struct sf_profile_conds *profiles; /* may be NULL */
    uint32_t n_spans;                        /* spans until the next check of the deadline */
    const struct sf_pipeline *asked; /* the last pipeline that sf_eval_pipeline() evaluated, */
    bool asked_needs_tree;           /* and whether it needs the tree */
    enum sf_err err;                 /* the first error */
    struct sf_why why;
};
