/* symbols.h - /api/v1/symbols: lists, stores and deletes programs and debug files, by build id. */
#pragma once
#include "serve/call.h"

#define SF_SYMBOLS_PATH "/api/v1/symbols"

bool sf_symbols_list(struct sf_call *call, struct sf_worker *worker);
bool sf_symbols_put(struct sf_call *call, struct sf_worker *worker);
bool sf_symbols_delete(struct sf_call *call, struct sf_worker *worker);
