/* alert_answers.h - rules about answers that people ask for as well: parts of the time of requests,
 * findings, coverage. As sf_alert_eval(). */
#pragma once
#include "alert/alert_eval.h"

/* The mean of a part per request, in ns. */
enum sf_err sf_alert_answers_ledger(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                    struct sf_alert_value **out, size_t *out_n, struct sf_why *why);
/* Each finding is an alert of its own, with its share. */
enum sf_err sf_alert_answers_findings(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                      struct sf_alert_value **out, size_t *out_n,
                                      struct sf_why *why);
enum sf_err sf_alert_answers_coverage(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                      struct sf_alert_value **out, size_t *out_n,
                                      struct sf_why *why);
