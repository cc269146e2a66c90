/* hint_parse.h - with(name=value, ...) after a query. */
#pragma once
#include "query/parser.h"

/* The current token is "with"; replaces the query's hints. False: the parser has an error. */
bool sf_hint_parse(struct sf_parser *p, struct sf_query *q);
