/* search_result.h - what a search found, as Tempo's clients read it. The JSON goes through a strict
 * parser there: not one field more than these. Faults stick in the buffer. */
#pragma once
#include "base/buf.h"
#include "model/search.h"

void sf_search_result_json(const struct sf_search_result *r,
                           struct sf_buf *out); /* SearchResponse */
void sf_search_result_pb(const struct sf_search_result *r, struct sf_buf *out);
/* The same in several messages: traces from number `from` on until `out` holds about `max_len`
 * bytes. Gives the number to continue with; all are written when it is n_traces. */
uint32_t sf_search_result_pb_part(const struct sf_search_result *r, uint32_t from, size_t max_len,
                                  struct sf_buf *out);
