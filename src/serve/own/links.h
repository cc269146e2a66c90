/* links.h - GET /api/v1/links: URL templates for source code and logs, for the page. */
#pragma once
#include "serve/call.h"

bool sf_links_handle(struct sf_call *call, struct sf_worker *worker);
