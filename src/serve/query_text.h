/* query_text.h - pieces of TraceQL, for questions that come in other languages. */
#pragma once
#include "base/buf.h"

void sf_query_text_literal(struct sf_buf *out, sf_str text); /* "text", escaped */
/* span."name": the name may hold anything. `scope` is constant text. */
void sf_query_text_attr(struct sf_buf *out, const char *scope, sf_str name);
