/* pipeline_parse.h - the part of the parser above field expressions. */
#pragma once
#include "query/parser.h"

/* A whole query from the token in hand to the end; faults stick in `p`. */
void sf_pipeline_parse(struct sf_parser *p, struct sf_query *q);
