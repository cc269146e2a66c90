/* const_parse.h - constants computed while parsing: what aggregates and series are compared with.
 */
#pragma once
#include "query/parser.h"

/* `5`, `-(2 + 1) * 3`, `10s`. False with a fault. */
bool sf_const_parse(struct sf_parser *p, struct sf_static *out);
/* One operation on two constants. False with a fault at `place`: division of an integer by zero,
 * arithmetic with durations. `out` may be one of the operands. */
bool sf_const_parse_fold(struct sf_parser *p, enum sf_expr_op op, struct sf_place place,
                         struct sf_static a, struct sf_static b, struct sf_static *out);
bool sf_const_parse_is_number(const struct sf_parser *p); /* a number or duration is in hand */
