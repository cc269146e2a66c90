/* services.h - GET /api/v1/services. */
#pragma once
#include "serve/call.h"

bool sf_services_list(struct sf_call *call, struct sf_worker *worker);
