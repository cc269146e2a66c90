/* pyroscope_render.h - Pyroscope's older query API, which Profiles Drilldown still uses for
 * exports, call graphs and comparisons. */
#pragma once
#include "serve/call.h"

bool sf_pyroscope_render(struct sf_call *call, struct sf_worker *worker);
bool sf_pyroscope_render_diff(struct sf_call *call, struct sf_worker *worker);
bool sf_pyroscope_render_label_values(struct sf_call *call, struct sf_worker *worker);
