/* const_parse.h - constants computed while parsing, with which aggregates and series are
 * compared. */
#pragma once
#include "query/parser.h"

/* Parses `5`, `-(2 + 1) * 3`, `10s`. False: an error. */
bool sf_const_parse(struct sf_parser *p, struct sf_static *out);
/* Computes one operation on two constants. False with an error at `place`: division of an integer
 * by zero, arithmetic with durations. `out` may be one of the operands. */
bool sf_const_parse_fold(struct sf_parser *p, enum sf_expr_op op, struct sf_place place,
                         struct sf_static a, struct sf_static b, struct sf_static *out);
bool sf_const_parse_is_number(const struct sf_parser *p); /* the current token is a number or
                                                           * duration */
