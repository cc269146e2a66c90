/* other_signals.h - OTLP signals this server does not keep. SDKs that send everything to one
 * endpoint must stay quiet: metrics and logs are taken, counted and dropped, or refused when the
 * operator wants to know. */
#pragma once
#include "serve/call.h"

bool sf_other_signals_metrics(struct sf_call *call, struct sf_worker *worker);
bool sf_other_signals_logs(struct sf_call *call, struct sf_worker *worker);
