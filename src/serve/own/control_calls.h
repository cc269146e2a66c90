/* control_calls.h - /api/v1/control for collectors; /api/v1/profiling and /api/v1/collectors for
 * people. */
#pragma once
#include "serve/own/control.h"

bool sf_control_calls_poll(struct sf_call *call, struct sf_worker *worker);
/* A parked poll's answer: 304 while the version is still that one. */
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
