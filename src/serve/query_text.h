/* query_text.h - writes parts of TraceQL queries, for requests of other APIs that are
 * translated. */
#pragma once
#include "base/buf.h"

void sf_query_text_literal(struct sf_buf *out, sf_str text); /* "text", escaped */
/* Writes span."name"; the name may contain any character. `scope` is constant text. */
void sf_query_text_attr(struct sf_buf *out, const char *scope, sf_str name);
