/* alert_eval.h - evaluates a rule on the store's data at one time. */
#pragma once
#include "alert/alert_book.h"
#include "link/findings.h"
#include "store/store.h"

struct sf_watch; /* watch_feed.h */

struct sf_metrics_result; /* model/metrics_result.h */

struct sf_alert_ask {
    struct sf_store *store;
    const struct sf_alert_rule *rule;
    int64_t at_ns;            /* end of the rule's window */
    struct sf_arena *scratch; /* reset by the callee */
    double *measured;         /* gets the measured value, whether or not the rule fires; may be
                               * NULL */
    struct sf_finding_limits findings; /* thresholds for findings */
    struct sf_watch *watch; /* for WATCH: state of the rule's tenant; NULL: not available */
    sf_str *found_spans; /* gets a query for the spans found, when the rule has none; may be NULL */
    bool *is_partial; /* set when data could not be read, so that further values may be missing; may
                       * be NULL */
};

/* The values for which the rule is true; in q->req. An unknown value is an error: a query that was
 * cut short, or too few samples for a share. If some data could not be read, each value has the
 * annotation `partial`, and rules for low or missing values fail. */
enum sf_err sf_alert_eval(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                          struct sf_alert_value **out, size_t *out_n, struct sf_why *why);
/* For TRACEQL: evaluates many consecutive windows with one query, from the one that ends at
 * `from_ns` to the one that ends at `to_ns`, both multiples of the window. INPUT: too many.
 * Otherwise as above. */
enum sf_err sf_alert_eval_windows(const struct sf_alert_ask *ask, int64_t from_ns, int64_t to_ns,
                                  struct sf_query_ctx *q, struct sf_metrics_result *out,
                                  struct sf_why *why);
/* The values of one of these windows; in q->req. */
enum sf_err sf_alert_eval_window(const struct sf_alert_ask *ask, const struct sf_metrics_result *r,
                                 uint32_t step, struct sf_query_ctx *q, struct sf_alert_value **out,
                                 size_t *out_n, struct sf_why *why);
/* Explains the alert in one sentence; empty when unknown. `spans` is a query for the spans
 * concerned; empty: that of the rule. */
void sf_alert_eval_reason(const struct sf_alert_ask *ask, sf_str spans, struct sf_query_ctx *q,
                          struct sf_buf *out);
