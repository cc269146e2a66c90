/* watch_why.h - explains an alarm of the built-in alerts in one sentence: the numbers, and the code
 * that grew. */
#pragma once
#include "alert/watch_feed.h"

struct sf_watch_alarm {
    enum sf_watch_kind kind;
    sf_str service, operation; /* operation: for latency only */
    double before, now;        /* ns or bytes per request; bytes; shares of the CPU limit */
    sf_str function;           /* for the kind "new function" */
};

/* A query for the requests that an alarm concerns. False: `req` is full. */
bool sf_watch_why_spans(const struct sf_watch_alarm *a, struct sf_arena *req, sf_str *out);
/* Writes the explanation; parts that cannot be determined are left out. */
void sf_watch_why(const struct sf_alert_ask *ask, const struct sf_watch_alarm *a,
                  struct sf_query_ctx *q, struct sf_buf *out);
/* A function of the service that is hot since the deploy and was not before; empty: none. In
 * q->req. */
enum sf_err sf_watch_why_new(const struct sf_alert_ask *ask, sf_str service, int64_t deploy_ns,
                             struct sf_query_ctx *q, sf_str *out, double *out_share,
                             struct sf_why *why);
