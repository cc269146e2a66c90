/* search_result.h - the result of a search in Tempo's formats. Clients parse the JSON strictly, so
 * no additional fields are allowed. The buffer keeps errors. */
#pragma once
#include "base/buf.h"
#include "model/search.h"

void sf_search_result_json(const struct sf_search_result *r,
                           struct sf_buf *out); /* SearchResponse */
void sf_search_result_pb(const struct sf_search_result *r, struct sf_buf *out);
/* The same in several messages: traces from number `from` on until `out` has about `max_len` bytes.
 * Returns the number to continue with; n_traces: all are written. */
uint32_t sf_search_result_pb_part(const struct sf_search_result *r, uint32_t from, size_t max_len,
                                  struct sf_buf *out);
