/* other_signals.h - OTLP signals this server does not keep. Senders that send everything to one
 * endpoint must not fail: metrics and logs are taken, counted and dropped, and the answer says how
 * many items were left out and why; or they are refused when the operator wants that. */
#pragma once
#include "serve/call.h"

bool sf_other_signals_metrics(struct sf_call *call, struct sf_worker *worker);
bool sf_other_signals_logs(struct sf_call *call, struct sf_worker *worker);
