/* links.h - GET /api/v1/links: where sources and logs are, for the page. */
#pragma once
#include "serve/call.h"

bool sf_links_handle(struct sf_call *call, struct sf_worker *worker);
