/* slow_metrics.h - TraceQL metrics the slow, obvious way: a list of the spans that count, a list of
 * series, everything found by looking through them. */
#pragma once
#include "base/buf.h"
#include "slow_traceql.h"

enum { SLOW_LABELS = 8 };

struct slow_window {
    int64_t from_ns, to_ns, step_ns; /* as asked; a step of 0 is an instant query */
};

struct slow_counted { /* a span, as often as spansets hold it */
    const struct slow_trace *t;
    uint32_t span, step;
};

struct slow_spans {
    struct slow_counted *list;
    uint32_t n, cap;
};

struct slow_series {
    struct sf_attr labels[SLOW_LABELS];
    uint32_t n_labels;
    double *values;           /* NaN: no sample */
    struct slow_spans *spans; /* what it was made from */
};

struct slow_series_set {
    struct slow_series *list; /* by number of labels, then label by label */
    uint32_t n, cap, n_steps;
    bool is_number; /* of arithmetic */
    double number;
    bool is_error;     /* a structural operator over several spansets */
    bool is_ambiguous; /* two series have the same labels: what comes out of them is anybody's */
};

struct slow_series_set slow_metrics(const struct slow_traces *traces, const struct sf_metrics *m,
                                    struct slow_window w, struct sf_arena *req);
/* In which step of how many a span that starts then counts; -1: in none. */
int64_t slow_window_step(struct slow_window w, uint64_t start_ns, uint32_t *out_n_steps);

/* For slow_values_compared.c, which does compare(). */
void slow_metrics_compare(const struct slow_spans *spans, const struct sf_metric *m,
                          struct slow_series_set *out, struct sf_arena *req);
struct slow_series *slow_series_add(struct slow_series_set *set, struct sf_arena *req);
void slow_series_label(struct slow_series *s, sf_str key, struct sf_value val);
int slow_value_order(struct sf_value a, struct sf_value b);
struct sf_value slow_static_value(struct sf_static v, struct sf_arena *req);
