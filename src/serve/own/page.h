/* page.h - the web page and its files. It loads without a token, and asks the user for one when the
 * API requires it. */
#pragma once
#include "serve/call.h"

bool sf_page_index(struct sf_call *call, struct sf_worker *worker);
bool sf_page_asset(struct sf_call *call, struct sf_worker *worker);
