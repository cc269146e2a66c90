/* pipeline_parse.h - the part of the parser above field expressions. */
#pragma once
#include "query/parser.h"

/* Parses a whole query from the current token to the end; `p` keeps errors. */
void sf_pipeline_parse(struct sf_parser *p, struct sf_query *q);
