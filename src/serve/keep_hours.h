/* keep_hours.h - judging hours that are over, one after the other, on a thread of its own. */
#pragma once
#include "serve/service.h"

/* Judges what is due; returns when nothing is, or the server stops. */
void sf_keep_hours_judge(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                         const atomic_bool *is_stopping);
