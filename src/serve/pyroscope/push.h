/* push.h - push.v1.PusherService/Push: pprof profiles with labels, over Connect and gRPC. */
#pragma once
#include "serve/call.h"

bool sf_push_handle(struct sf_call *call, struct sf_worker *worker);
