/* metrics.h - a TraceQL metrics query over the store. */
#pragma once
#include "exec/metrics_window.h"
#include "model/metrics_result.h"
#include "query/ast.h"
#include "store/store.h"

struct sf_metrics_ask {
    const struct sf_query *query;
    struct sf_metrics_window window;
    uint32_t max_series;      /* 0, or above the server's cap: the cap */
    uint32_t n_exemplars;     /* the query's hint comes first; none in an instant query */
    struct sf_arena *scratch; /* for the trace in hand; reset for each */
    /* Called between traces, and given, when it returns true: the samples that changed since the
     * last time (values still grow), or only how far counting got where samples would have to be
     * reverted later. NULL: no thread waits. */
    bool (*wants_progress)(void *arg);
    void (*on_progress)(void *arg, const struct sf_metrics_result *changed);
    void *progress_arg;
};

/* Result in q->req. INPUT: no metrics query. A deadline that passes after something was counted,
 * more series than the cap and memory that runs out give a partial answer with a note. */
enum sf_err sf_metrics_run(struct sf_store *store, const struct sf_metrics_ask *ask,
                           struct sf_query_ctx *q, struct sf_metrics_result *out,
                           struct sf_why *why);
