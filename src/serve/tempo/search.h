/* search.h - TraceQL search in Tempo's API: GET /api/search, and StreamingQuerier/Search. */
#pragma once
#include "serve/call.h"

bool sf_search_handle(struct sf_call *call, struct sf_worker *worker);
bool sf_search_stream(struct sf_call *call, struct sf_worker *worker);
