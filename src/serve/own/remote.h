/* remote.h - how much data has been shipped to the remote store, and whether it is complete
 * there. */
#pragma once
#include "serve/call.h"

bool sf_remote_state_handle(struct sf_call *call, struct sf_worker *worker);
bool sf_remote_check_handle(struct sf_call *call, struct sf_worker *worker);
bool sf_remote_move_handle(struct sf_call *call, struct sf_worker *worker);
bool sf_remote_move_begin(struct sf_call *call, struct sf_worker *worker);
