/* search_result.h - what a search found, as Tempo's clients read it. The JSON goes through a strict
 * parser there: not one field more than these. Faults stick in the buffer. */
#pragma once
#include "base/buf.h"
#include "model/search.h"

void sf_search_result_json(const struct sf_search_result *r,
                           struct sf_buf *out); /* SearchResponse */
void sf_search_result_pb(const struct sf_search_result *r, struct sf_buf *out);
/* "4c1f09...": hexadecimal without leading zeros. */
sf_str sf_search_trace_id(sf_trace_id id, char text[33]);
