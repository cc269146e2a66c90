/* expr_fold.h - the operators on values: used for constant folding and for evaluating rows, so that
 * both give the same result.
 *
 * With missing or mismatched operands comparisons are false, and arithmetic gives a missing value.
 * Integer division by zero gives a missing value; a non-boolean operand of && and || counts as
 * false. */
#pragma once
#include "query/ast.h"

struct sf_static sf_expr_fold_unary(enum sf_expr_op op, struct sf_static v);
/* All operators but =~ and !~, which need a compiled pattern. NIL on one side of = and != tests
 * whether the other is missing. */
struct sf_static sf_expr_fold_binary(enum sf_expr_op op, struct sf_static a, struct sf_static b);
enum sf_static_type sf_expr_fold_binary_type(enum sf_expr_op op, enum sf_static_type a,
                                             enum sf_static_type b);
bool sf_expr_fold_compare(enum sf_expr_op op, struct sf_static a,
                          struct sf_static b);  /* = != < <= > >= */
double sf_expr_fold_number(struct sf_static v); /* for INT, FLOAT, DURATION (ns) */
