/* spans.h - the code that ran in a span: its flame graph and its time breakdown. */
#pragma once
#include "serve/call.h"

bool sf_spans_profile(struct sf_call *call, struct sf_worker *worker);
/* The flame graph of the whole trace. */
bool sf_spans_trace_flame(struct sf_call *call, struct sf_worker *worker);
bool sf_spans_ledger(struct sf_call *call, struct sf_worker *worker);
