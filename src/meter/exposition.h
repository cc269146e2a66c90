/* exposition.h - metrics as text: Prometheus 0.0.4, or OpenMetrics 1.0 when a scraper requests it.
 *
 * A writer to a caller's buffer: one family, its samples, the next family. Both formats are written
 * by the same calls; the writer handles their differences (counter family names, exemplars, the end
 * mark). Errors are kept in the buffer. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/ids.h"

enum sf_metric_type {
    SF_METRIC_COUNTER,      /* family "x": samples x_total */
    SF_METRIC_COUNTER_BARE, /* a counter whose established name has no _total */
    SF_METRIC_GAUGE,
    SF_METRIC_HISTOGRAM
};

struct sf_metric_label {
    const char *name;
    sf_str val; /* when written: escaped, invalid UTF-8 replaced, truncated to 2,048 bytes */
};

struct sf_exemplar { /* of one bucket; value_s < 0: none */
    sf_trace_id trace_id;
    double value_s;
    int64_t time_ns; /* unix time */
};

struct sf_exposition {
    struct sf_buf *out;
    bool is_open_metrics;
    const char *family; /* the current one; borrowed until the next */
    enum sf_metric_type type;
    sf_str tenants; /* show only samples of these tenants (label tenant), separated by commas;
                     * empty: all */
};

void sf_exposition_family(struct sf_exposition *e, const char *name, enum sf_metric_type type,
                          const char *help);
void sf_exposition_u64(struct sf_exposition *e, const struct sf_metric_label *labels,
                       size_t n_labels, uint64_t val);
void sf_exposition_f64(struct sf_exposition *e, const struct sf_metric_label *labels,
                       size_t n_labels, double val);
/* `counts` has n_bounds + 1 entries, one per bucket, not accumulated; the last one is open.
 * `exemplars` likewise, or NULL; written in OpenMetrics only. At most 24 labels. */
void sf_exposition_histogram(struct sf_exposition *e, const struct sf_metric_label *labels,
                             size_t n_labels, const double *bounds, size_t n_bounds,
                             const uint64_t *counts, double sum,
                             const struct sf_exemplar *exemplars);
void sf_exposition_end(struct sf_exposition *e); /* "# EOF" if the format requires it */

/* Whether this Accept header prefers OpenMetrics to the plain text format. */
bool sf_exposition_wants_open_metrics(sf_str accept);
extern const char *const sf_exposition_type_plain, *const sf_exposition_type_open; /* MIME types */
