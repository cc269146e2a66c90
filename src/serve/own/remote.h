/* remote.h - how far data has reached the remote store, and whether it is whole there. */
#pragma once
#include "serve/call.h"

bool sf_remote_state_handle(struct sf_call *call, struct sf_worker *worker);
bool sf_remote_check_handle(struct sf_call *call, struct sf_worker *worker);
