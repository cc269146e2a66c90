/* expr_fold.h - what operators do to values: used for folding while parsing and, unchanged, when
 * rows are evaluated, so that both give the same answer.
 *
 * Missing and mismatched operands: comparisons are false, arithmetic is missing. Integer division
 * by zero is missing; a non-boolean operand of && and || counts as false. */
#pragma once
#include "query/ast.h"

struct sf_static sf_expr_fold_unary(enum sf_expr_op op, struct sf_static v);
/* Everything but =~ and !~, which need a compiled pattern. NIL on either side of = and != asks
 * whether the other is missing. */
struct sf_static sf_expr_fold_binary(enum sf_expr_op op, struct sf_static a, struct sf_static b);
enum sf_static_type sf_expr_fold_binary_type(enum sf_expr_op op, enum sf_static_type a,
                                             enum sf_static_type b);
bool sf_expr_fold_compare(enum sf_expr_op op, struct sf_static a,
                          struct sf_static b);  /* = != < <= > >= */
double sf_expr_fold_number(struct sf_static v); /* of INT, FLOAT, DURATION (ns) */
