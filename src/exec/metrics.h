/* metrics.h - runs a TraceQL metrics query over the store. */
#pragma once
#include "exec/metrics_window.h"
#include "model/metrics_result.h"
#include "query/ast.h"
#include "store/store.h"

struct sf_metrics_ask {
    const struct sf_query *query;
    struct sf_metrics_window window;
    uint32_t max_series;      /* 0, or above the server's cap: the cap */
    uint32_t n_exemplars;     /* the query's hint takes precedence; none in an instant query */
    struct sf_arena *scratch; /* for the current trace; reset for each */
    /* Called between traces. If it returns true, on_progress gets the samples that changed since
     * the last time (values may still grow), or only how far counting got if samples might have to
     * be taken back later. NULL: no progress is sent. */
    bool (*wants_progress)(void *arg);
    void (*on_progress)(void *arg, const struct sf_metrics_result *changed);
    void *progress_arg;
};

/* The result is in q->req. INPUT: not a metrics query. If the deadline passes after something was
 * counted, or there are more series than the cap, or memory runs out, the answer is partial, with a
 * note. */
enum sf_err sf_metrics_run(struct sf_store *store, const struct sf_metrics_ask *ask,
                           struct sf_query_ctx *q, struct sf_metrics_result *out,
                           struct sf_why *why);
