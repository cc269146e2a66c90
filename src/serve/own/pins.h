/* pins.h - pinned traces (kept on request), and why a trace's samples were kept or not.
 *
 *   GET    /api/v1/pins                  pins that have not expired
 *   POST   /api/v1/pins/{trace}          keeps spans and samples of a trace, for=7d, note=
 *   DELETE /api/v1/pins/{trace}
 *   GET    /api/v1/keep/{trace}          whether its samples were kept, and by which rules */
#pragma once
#include "serve/call.h"

bool sf_pins_list(struct sf_call *call, struct sf_worker *worker);
bool sf_pins_post(struct sf_call *call, struct sf_worker *worker);
bool sf_pins_delete(struct sf_call *call, struct sf_worker *worker);
bool sf_pins_trace(struct sf_call *call, struct sf_worker *worker);
