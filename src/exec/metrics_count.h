/* metrics_count.h - one metrics query: counts spans of the store in a table, and converts the table
 * to series. */
#pragma once
#include "exec/eval.h"
#include "exec/exemplars.h"
#include "exec/metrics_set.h"
#include "store/store.h"

enum { SF_METRICS_BY = 8 };

struct sf_metrics_count {
    const struct sf_metrics *query; /* of kind QUERY */
    const struct sf_metrics_window *window;
    struct sf_eval *eval;
    struct sf_query_ctx *q;
    struct sf_arena *scratch; /* for the current trace */
    struct sf_metrics_table table;
    struct sf_exemplars exemplars;
    sf_str by_keys[SF_METRICS_BY];
    struct sf_buf key;          /* of the current series; owned */
    bool is_extrapolated;       /* count each span as often as its sampler's probability says */
    double weight;              /* of the current span */
    uint64_t n_counted;         /* spans */
    uint64_t n_traces, n_spans; /* examined */
    bool is_late;               /* the deadline passed after something was counted */
    sf_str left_out;            /* which traces did not fit the memory, in a sentence */
    bool is_lossy;              /* compare: an attribute has too many values to count them all */
    enum sf_err err;            /* memory ran out while counting */
    /* Called between traces; n_traces and n_spans are up to date. May be NULL. */
    void (*on_trace)(struct sf_metrics_count *c, void *arg);
    void *on_trace_arg;
};

/* table.req, exemplars.n_max and exemplars.req are set. The caller frees `key`. */
enum sf_err sf_metrics_count_run(struct sf_metrics_count *c, struct sf_store *store,
                                 struct sf_why *why);
/* Makes the finished series; compare() is in another file. */
void sf_metrics_count_finish(struct sf_metrics_count *c, struct sf_metrics_set *out);
/* Moves the exemplars a series kept into its finished form. */
void sf_metrics_count_take_exemplars(const struct sf_table_series *from, struct sf_arena *req,
                                     struct sf_metric_series *to);
bool sf_metrics_count_takes_attr(enum sf_metric_fn fn);
/* The measured value of a span: durations in seconds. `out_bucket` is the exponent of the smallest
 * power of two that is not below it. False: no value that this function can use. */
bool sf_metrics_count_measure(enum sf_metric_fn fn, struct sf_static val, double *out,
                              uint8_t *out_bucket);
/* The series in which this span is counted; NULL: no space. */
struct sf_table_series *sf_metrics_count_series(struct sf_metrics_count *c,
                                                const struct sf_trace_view *v, uint32_t span,
                                                uint8_t bucket);
/* The same by key, as another table has it. */
struct sf_table_series *sf_metrics_count_keyed(struct sf_metrics_count *c, sf_str key);
/* Adds what was counted elsewhere. */
void sf_metrics_count_join(enum sf_metric_fn fn, struct sf_metrics_cell *cell,
                           struct sf_metrics_cell more);
void sf_metrics_count_into(enum sf_metric_fn fn, struct sf_metrics_cell *cell, double value,
                           double weight);
/* Appends a value to a series' key. */
void sf_metrics_count_key_add(struct sf_buf *key, struct sf_static v);

/* metrics_compare.c */
void sf_metrics_compare_span(struct sf_metrics_count *c, const struct sf_trace_view *v,
                             uint32_t span, uint32_t step, bool *has_exemplar);
void sf_metrics_compare_finish(struct sf_metrics_count *c, struct sf_metrics_set *out);
uint32_t sf_metrics_compare_columns(void);
