/* alert_eval.h - what a rule finds in the store, as of one moment. */
#pragma once
#include "alert/alert_book.h"
#include "link/findings.h"
#include "store/store.h"

struct sf_watch; /* watch_feed.h */

struct sf_metrics_result; /* model/metrics_result.h */

struct sf_alert_ask {
    struct sf_store *store;
    const struct sf_alert_rule *rule;
    int64_t at_ns;            /* it examines the rule's window before this */
    struct sf_arena *scratch; /* reset */
    double *measured;         /* gets what was measured, whether or not it fires; may be NULL */
    struct sf_finding_limits findings; /* from which share something stands out */
    struct sf_watch *watch; /* of WATCH: of the rule's tenant; NULL: it cannot be asked */
    sf_str *found_spans; /* gets a query of what was found, where the rule has none; may be NULL */
    bool *is_partial; /* set: something could not be read, so that what is not among the values may
                       * be true as well; may be NULL */
};

/* Values of which the rule is true; in q->req. What cannot be known is an error, never a value: a
 * query that was cut short, or too few samples to speak of a share. Where something could not be
 * read, each value has the annotation `partial`, and what is missing or little is not known. */
enum sf_err sf_alert_eval(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                          struct sf_alert_value **out, size_t *out_n, struct sf_why *why);
/* Of TRACEQL, many moments by one query: the rule's windows one after the other, up to those that
 * end at `from_ns` and at `to_ns`, multiples of the window. INPUT: too many. Otherwise as above. */
enum sf_err sf_alert_eval_windows(const struct sf_alert_ask *ask, int64_t from_ns, int64_t to_ns,
                                  struct sf_query_ctx *q, struct sf_metrics_result *out,
                                  struct sf_why *why);
/* Values of one of them; in q->req. */
enum sf_err sf_alert_eval_window(const struct sf_alert_ask *ask, const struct sf_metrics_result *r,
                                 uint32_t step, struct sf_query_ctx *q, struct sf_alert_value **out,
                                 size_t *out_n, struct sf_why *why);
/* Why it is so, in a sentence; empty when that is not known. `spans` is a query of those that the
 * alert is about; empty: of the rule's. */
void sf_alert_eval_reason(const struct sf_alert_ask *ask, sf_str spans, struct sf_query_ctx *q,
                          struct sf_buf *out);
