/* alert_answers.h - rules that use the server's answers: the time breakdown of requests, findings,
 * coverage. Results are as for sf_alert_eval(). */
#pragma once
#include "alert/alert_eval.h"

/* The mean of one part of the time breakdown per request, in ns. */
enum sf_err sf_alert_answers_ledger(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                    struct sf_alert_value **out, size_t *out_n, struct sf_why *why);
/* Each finding is an alert of its own, with its share. */
enum sf_err sf_alert_answers_findings(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                      struct sf_alert_value **out, size_t *out_n,
                                      struct sf_why *why);
enum sf_err sf_alert_answers_coverage(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                      struct sf_alert_value **out, size_t *out_n,
                                      struct sf_why *why);
