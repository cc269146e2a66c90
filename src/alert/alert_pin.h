/* alert_pin.h - keeps the evidence of an alert: pins traces when it begins to fire, so that they
 * are still available later. */
#pragma once
#include "alert/alert_eval.h"

/* Pins the slowest traces of a TraceQL rule's window, or those with most of a function's samples:
 * SF_LIMIT_ALERT_PINS at most, for SF_LIMIT_ALERT_PIN_DAYS, with a note that names the rule.
 * Existing pins are not changed, and alerts never take more than half of a tenant's pins. */
enum sf_err sf_alert_pin(const struct sf_alert_ask *ask, struct sf_query_ctx *q, uint32_t *out_n,
                         struct sf_why *why);
