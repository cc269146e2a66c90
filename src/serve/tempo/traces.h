/* traces.h - one trace by its id: in Tempo's two forms and in our own. */
#pragma once
#include "serve/call.h"

bool sf_traces_v1(struct sf_call *call, struct sf_worker *worker);
bool sf_traces_v2(struct sf_call *call, struct sf_worker *worker);
bool sf_traces_own(struct sf_call *call, struct sf_worker *worker);
