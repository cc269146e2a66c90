/* span_metrics.h - calls, errors and durations per service and operation, from received spans,
 * under the names and labels that existing dashboards use.
 *
 * There are two steps, so that a batch that the store refuses is not counted: an ingest thread
 * first sums a batch into its own tally (no lock, memory from its arena), and once the store has
 * accepted the batch adds the tally to the shared series. A batch has far fewer series than spans,
 * so the lock is held only briefly. */
#pragma once
#include "base/arena.h"
#include "base/table.h"
#include "meter/exposition.h"
#include "model/span.h"

enum { SF_SPAN_METRIC_BUCKETS = 15 }; /* 0.002 * 2^i seconds, the last one open */

struct sf_span_metrics_config { /* 0: the default of base/limits.h */
    uint32_t max_series;        /* further ones are counted as overflow */
    int64_t stale_ns;           /* a series without spans for this time is dropped */
    int64_t slack_ns;           /* spans whose end differs more from now are not counted */
    /* Attributes that become labels, of the resource or else of the span; at most
     * SF_DIMENSIONS, the rest is ignored. Borrowed as long as the metrics live. */
    const char *const *dimensions;
    size_t n_dimensions;
    bool has_target; /* labels job and instance, for joins with traces_target_info */
};

struct sf_span_metrics; /* the shared series */

struct sf_span_tally_bucket { /* only buckets with values */
    uint32_t next;            /* index + 1 of the row's next bucket; 0: last */
    uint32_t n_spans;
    uint8_t bucket;
    struct sf_exemplar exemplar; /* the last span in this bucket */
};

struct sf_span_tally_row {
    sf_str service, name; /* copies in the tally's arena */
    sf_str dims;          /* values of the configured attributes, each followed by a zero byte */
    uint64_t hash;
    uint8_t kind, status;
    uint32_t first_bucket;                   /* index + 1 */
    uint64_t n_calls, size_len, duration_ns; /* sums */
};

struct sf_span_tally {
    struct sf_span_tally_row *rows;
    struct sf_span_tally_bucket *buckets;
    struct sf_table at; /* indexes of rows */
    uint32_t n_rows, n_buckets, cap_rows, cap_buckets;
    uint64_t n_spans, n_outside_slack;
};

struct sf_span_metrics *sf_span_metrics_new(const struct sf_span_metrics_config *config);
void sf_span_metrics_free(struct sf_span_metrics *m); /* NULL is fine */
/* Sums `batch` in `req`; does not use shared state. False when the arena is full: then nothing is
 * counted. */
bool sf_span_metrics_tally_make(const struct sf_span_metrics *m, const struct sf_span_batch *batch,
                                int64_t now_ns, struct sf_arena *req, struct sf_span_tally *out);
/* The same for the next piece of a request: adds to `tally`, which is zeroed before the first and
 * must not be used after a failure. */
bool sf_span_metrics_tally_add(const struct sf_span_metrics *m, const struct sf_span_batch *batch,
                               int64_t now_ns, struct sf_arena *req, struct sf_span_tally *tally);
/* `tenant` becomes a label of the series; empty: no such label. */
void sf_span_metrics_add(struct sf_span_metrics *m, sf_str tenant,
                         const struct sf_span_tally *tally, int64_t now_ns);
/* Drops stale series, then writes the rest. */
void sf_span_metrics_render(struct sf_span_metrics *m, int64_t now_ns, struct sf_exposition *e);
uint64_t sf_span_metrics_memory_len(struct sf_span_metrics *m);
