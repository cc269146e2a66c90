/* profile_read.h - GET /api/v1/profile: a flame graph in any output format. */
#pragma once
#include "serve/call.h"

bool sf_profile_read_handle(struct sf_call *call, struct sf_worker *worker);
