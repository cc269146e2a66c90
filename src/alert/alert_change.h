/* alert_change.h - what a rule of the kind change finds: is something per request larger than in
 * the time before, at the same time yesterday, or in another version, and is that no chance? */
#pragma once
#include "alert/alert_eval.h"

/* As sf_alert_eval(). */
enum sf_err sf_alert_change(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                            struct sf_alert_value **out, size_t *out_n, struct sf_why *why);
/* The sentence of a comparison, which calls the later side "right": without that word. */
sf_str sf_alert_change_words(sf_str summary);
