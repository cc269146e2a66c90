/* alert_watch.h - rules of the kind watch: the results of the built-in alerts, with
 * explanations. */
#pragma once
#include "alert/alert_eval.h"

struct sf_watch; /* watch_feed.h */

/* As sf_alert_eval(), for the services of one tenant. CANCELLED: history is still being read; the
 * alerts stay as they are. *ask->found_spans gets a query for the spans of the first alarm. */
enum sf_err sf_alert_watch(const struct sf_alert_ask *ask, struct sf_watch *w,
                           struct sf_query_ctx *q, struct sf_alert_value **out, size_t *out_n,
                           struct sf_why *why);
/* Adds built-in rules of all kinds at the end of the set, to be called only if there is a receiver;
 * with tenancy each runs for every tenant. LIMIT. */
enum sf_err sf_alert_watch_add_pack(struct sf_alert_rules *r, bool has_tenancy, struct sf_why *why);
