/* keep_hours.h - decides, hour by hour, which requests keep their detail; on a thread of its
 * own. */
#pragma once
#include "serve/service.h"

/* Processes all hours that are due; returns when none is left or the server stops. */
void sf_keep_hours_judge(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                         const atomic_bool *is_stopping);
