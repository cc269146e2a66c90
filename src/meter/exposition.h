/* exposition.h - metrics as text: Prometheus 0.0.4, or OpenMetrics 1.0 when a scraper requests it.
 *
 * A writer over a caller's buffer: one family, its samples, the next family. Both formats come from
 * the same calls; where they differ (counter family names, exemplars, the end mark) the writer
 * knows. Faults stick in the buffer. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/ids.h"

enum sf_metric_type {
    SF_METRIC_COUNTER,      /* family "x": samples x_total */
    SF_METRIC_COUNTER_BARE, /* a counter others already know without _total */
    SF_METRIC_GAUGE,
    SF_METRIC_HISTOGRAM
};

struct sf_metric_label {
    const char *name;
    sf_str val; /* escaped, invalid UTF-8 replaced, cut to 2,048 bytes when written */
};

struct sf_exemplar { /* of one bucket; value_s < 0: there is none */
    sf_trace_id trace_id;
    double value_s;
    int64_t time_ns; /* unix time */
};

struct sf_exposition {
    struct sf_buf *out;
    bool is_open_metrics;
    const char *family; /* the one being written; borrowed until the next */
    enum sf_metric_type type;
    sf_str tenants; /* samples with the label tenant: only these, commas between; empty: all */
};

void sf_exposition_family(struct sf_exposition *e, const char *name, enum sf_metric_type type,
                          const char *help);
void sf_exposition_u64(struct sf_exposition *e, const struct sf_metric_label *labels,
                       size_t n_labels, uint64_t val);
void sf_exposition_f64(struct sf_exposition *e, const struct sf_metric_label *labels,
                       size_t n_labels, double val);
/* `counts` has n_bounds + 1 entries, one per bucket, not accumulated; the last one is open.
 * `exemplars` likewise, or NULL; they only show in OpenMetrics. At most 24 labels. */
void sf_exposition_histogram(struct sf_exposition *e, const struct sf_metric_label *labels,
                             size_t n_labels, const double *bounds, size_t n_bounds,
                             const uint64_t *counts, double sum,
                             const struct sf_exemplar *exemplars);
void sf_exposition_end(struct sf_exposition *e); /* "# EOF" if the format requires it */

/* Does this Accept header prefer OpenMetrics to the plain text format? */
bool sf_exposition_wants_open_metrics(sf_str accept);
extern const char *const sf_exposition_type_plain, *const sf_exposition_type_open; /* MIME types */
