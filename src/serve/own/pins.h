/* pins.h - traces kept on request, and why one was kept or not.
 *
 *   GET    /api/v1/pins                  those that have not ended
 *   POST   /api/v1/pins/{trace}          keeps spans and samples of a trace, for=7d, note=
 *   DELETE /api/v1/pins/{trace}
 *   GET    /api/v1/keep/{trace}          what became of its samples, and by which rules */
#pragma once
#include "serve/call.h"

bool sf_pins_list(struct sf_call *call, struct sf_worker *worker);
bool sf_pins_post(struct sf_call *call, struct sf_worker *worker);
bool sf_pins_delete(struct sf_call *call, struct sf_worker *worker);
bool sf_pins_trace(struct sf_call *call, struct sf_worker *worker);
