/* search.h - GET /api/search: TraceQL over HTTP, as Tempo's clients ask it. */
#pragma once
#include "serve/call.h"

bool sf_search_handle(struct sf_call *call, struct sf_worker *worker);
