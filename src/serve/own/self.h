/* self.h - the server's own status: readiness, metrics, build information. */
#pragma once
#include "serve/call.h"

bool sf_self_ready(struct sf_call *call, struct sf_worker *worker);
bool sf_self_metrics(struct sf_call *call, struct sf_worker *worker);
bool sf_self_echo(struct sf_call *call, struct sf_worker *worker);
bool sf_self_buildinfo(struct sf_call *call, struct sf_worker *worker);
