/* hint_parse.h - with(name=value, ...) behind a query. */
#pragma once
#include "query/parser.h"

/* With the word "with" in hand; replaces the query's hints. False: a fault sticks in the parser. */
bool sf_hint_parse(struct sf_parser *p, struct sf_query *q);
