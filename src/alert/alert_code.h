/* alert_code.h - rules of the kinds share and amount: what a function, a package or a label has of
 * the profiles that a selector names. */
#pragma once
#include "alert/alert_eval.h"

/* Selector, pattern and label are tried. INPUT with a sentence that begins with the kind. */
enum sf_err sf_alert_code_check(struct sf_alert_rules *r, struct sf_alert_rule *rule,
                                struct sf_why *why);
enum sf_err sf_alert_code(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                          struct sf_alert_value **out, size_t *out_n, struct sf_why *why);
/* The function with most of it by itself, for pins; empty: there is none. */
enum sf_err sf_alert_code_hottest(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                  sf_str *out, struct sf_why *why);
/* How much, of how much, and which function and line have most of it. */
void sf_alert_code_reason(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                          struct sf_buf *out);
