/* status_pages.h - Tempo's /status pages: the server's state in plain text, for use with curl. */
#pragma once
#include "serve/call.h"

bool sf_status_pages_all(struct sf_call *call, struct sf_worker *worker);
bool sf_status_pages_version(struct sf_call *call, struct sf_worker *worker);
bool sf_status_pages_services(struct sf_call *call, struct sf_worker *worker);
bool sf_status_pages_endpoints(struct sf_call *call, struct sf_worker *worker);
bool sf_status_pages_config(struct sf_call *call, struct sf_worker *worker); /* ?mode=diff */
bool sf_status_pages_overrides(struct sf_call *call, struct sf_worker *worker);
bool sf_status_pages_usage(struct sf_call *call, struct sf_worker *worker);
