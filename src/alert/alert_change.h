/* alert_change.h - rules of the kind `change`: whether a value per request is significantly larger
 * than in the time before, at the same time yesterday, or in another version. */
#pragma once
#include "alert/alert_eval.h"

/* Results are as for sf_alert_eval(). */
enum sf_err sf_alert_change(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                            struct sf_alert_value **out, size_t *out_n, struct sf_why *why);
/* The sentence of a comparison without the word "right", by which it calls the later side. */
sf_str sf_alert_change_words(sf_str summary);
