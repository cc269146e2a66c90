/* eval_attr.h - the value of an attribute or intrinsic of one span.
 *
 * Most have one value; arrays, events and links have many. Ids are converted to text on demand, in
 * space that the caller provides. */
#pragma once
#include "exec/trace_view.h"
#include "model/value_list.h"
#include "query/ast.h"

enum { SF_EVAL_TEXT_LEN = 40 };

struct sf_eval_values { /* an iterator; zero-initialize it */
    uint32_t at;
    bool is_array; /* the value is an array: iterate over `array` */
    struct sf_value_list array;
    struct sf_static one;
    char text[SF_EVAL_TEXT_LEN]; /* where ids are written */
};

/* Does every span have it, even if empty? Not events, links and profiles. */
bool sf_eval_attr_is_always_there(const struct sf_query_attr *a);
/* The next value: one for most attributes, one per event or link for theirs. */
bool sf_eval_attr_values_next(struct sf_eval_values *out, const struct sf_query_attr *a,
                              const struct sf_trace_view *v, uint32_t span);
/* The first scalar value, NIL if there is none. Strings may point into `text`. */
struct sf_static sf_eval_attr_one(const struct sf_query_attr *a, const struct sf_trace_view *v,
                                  uint32_t span, char text[SF_EVAL_TEXT_LEN]);
struct sf_static sf_eval_attr_static_from_value(
    struct sf_value v); /* NIL for arrays, lists, bytes and empty */
bool sf_eval_attr_needs_tree(const struct sf_query_attr *a);
