/* query_text.h - writes pieces of TraceQL, for requests of other APIs that become a query. */
#pragma once
#include "base/buf.h"

void sf_query_text_literal(struct sf_buf *out, sf_str text); /* "text", escaped */
/* span."name": the name may hold anything. `scope` is constant text. */
void sf_query_text_attr(struct sf_buf *out, const char *scope, sf_str name);
