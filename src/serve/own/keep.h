/* keep.h - GET /api/v1/keep: how much sample detail each retention rule would keep. */
#pragma once
#include "serve/call.h"

#define SF_KEEP_PARAMS "from until slow cpu errors baseline format=json|text"

bool sf_keep_handle(struct sf_call *call, struct sf_worker *worker);
