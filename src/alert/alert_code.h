/* alert_code.h - rules of the kinds share and amount: the part of a function, a package or a label
 * in the selected profiles. */
#pragma once
#include "alert/alert_eval.h"

/* Checks selector, pattern and label. INPUT; the message begins with the kind. */
enum sf_err sf_alert_code_check(struct sf_alert_rules *r, struct sf_alert_rule *rule,
                                struct sf_why *why);
enum sf_err sf_alert_code(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                          struct sf_alert_value **out, size_t *out_n, struct sf_why *why);
/* The function with the largest self value, for pins; empty: none. */
enum sf_err sf_alert_code_hottest(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                  sf_str *out, struct sf_why *why);
/* The amount, the total, and the function and line with the largest part. */
void sf_alert_code_reason(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                          struct sf_buf *out);
