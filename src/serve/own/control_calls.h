/* control_calls.h - /api/v1/control for collectors; /api/v1/profiling and /api/v1/collectors for
 * users. */
#pragma once
#include "serve/own/control.h"

bool sf_control_calls_poll(struct sf_call *call, struct sf_worker *worker);
/* Answers a parked poll: 304 if the version is still the same. */
void sf_control_calls_poll_answer(struct sf_call *call, const struct sf_control_target *who,
                                  const char *version);

bool sf_control_calls_get(struct sf_call *call, struct sf_worker *worker);
bool sf_control_calls_post(struct sf_call *call, struct sf_worker *worker);
bool sf_control_calls_put(struct sf_call *call, struct sf_worker *worker);
bool sf_control_calls_delete(struct sf_call *call, struct sf_worker *worker);
bool sf_control_calls_audit(struct sf_call *call, struct sf_worker *worker);
bool sf_control_calls_capture_post(struct sf_call *call, struct sf_worker *worker);
bool sf_control_calls_capture_get(struct sf_call *call, struct sf_worker *worker);
bool sf_control_calls_collectors(struct sf_call *call, struct sf_worker *worker);
