/* chart.h - draws values over time in a terminal.
 *
 * One series is drawn with several lines and an axis; of several series each has one line, so that
 * they can be compared. Each column of the terminal is one step, or the mean of several when there
 * are more. */
#pragma once
#include "base/buf.h"

struct sf_chart_series {
    sf_str label;
    const double *values; /* NaN: no sample */
};

enum sf_chart_unit { SF_CHART_NUMBER, SF_CHART_RATE, SF_CHART_SECONDS, SF_CHART_BYTES };

struct sf_chart {
    const struct sf_chart_series *series;
    uint32_t n_series, n_steps;
    int64_t first_ns, step_ns; /* times of the values */
    enum sf_chart_unit unit;
    bool is_flat;     /* one line per series, even for a single one */
    bool is_estimate; /* its figures are marked as estimates */
};

/* Columns available for steps at that terminal width: the number of steps to request. */
uint32_t sf_chart_columns(size_t width);
void sf_chart_draw(const struct sf_chart *c, size_t width, struct sf_buf *out);
