/* profile_upload.h - profile uploads by our own API and by OTLP: POST /api/v1/profile,
 * /v1development/profiles and the same over gRPC. */
#pragma once
#include "serve/call.h"

bool sf_profile_upload_own(struct sf_call *call, struct sf_worker *worker);
bool sf_profile_upload_otlp(struct sf_call *call, struct sf_worker *worker);
