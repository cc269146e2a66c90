/* page.h - the web page and its files. Nobody needs a token to load it: it asks for one when the
 * API does. */
#pragma once
#include "serve/call.h"

bool sf_page_index(struct sf_call *call, struct sf_worker *worker);
bool sf_page_asset(struct sf_call *call, struct sf_worker *worker);
