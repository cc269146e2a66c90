#include "render/chart.h"

#include <math.h>

#include "base/text.h"
#include "render/units.h"
#include "wire/time_text.h"

enum { LEVELS = 8, HEIGHT = 10, NUMBER_COLUMNS = 10, LABEL_MIN = 16, CLOCK_AT = 11, CLOCK_LEN = 8 };

/* ---- numbers ---- */

static void chart_add_value(struct sf_buf *out, const struct sf_chart *c, double v)
{
    enum sf_chart_unit unit = c->unit;
    if (isnan(v)) {
        sf_buf_add_str(out, SF_STR("-"));
        return;
    }
    if (c->is_estimate)
        sf_buf_add_u8(out, '~');
    if (unit == SF_CHART_RATE && v >= 0 && v < 1e15)
        sf_units_rate(out, v);
    else if (unit == SF_CHART_SECONDS && v >= 0 && v < 1e9)
        sf_units_duration(out, (uint64_t)(v * 1e9 + 0.5));
    else if (unit == SF_CHART_BYTES && v >= 0 && v < 1e18)
        sf_units_bytes(out, (uint64_t)v);
    else
        sf_buf_print(out, "%.4g", v);
}

static void chart_add_right(struct sf_buf *out, const struct sf_chart *c, double v, size_t columns)
{
    struct sf_buf cell = {0};
    size_t width;
    chart_add_value(&cell, c, v);
    width = sf_utf8_width(sf_buf_str(&cell));
    sf_units_pad(out, width < columns ? columns - width : 0);
    sf_buf_add_str(out, sf_buf_str(&cell));
    sf_buf_done(&cell);
}

/* The value of column `at` of `n_columns`: the mean of its steps that have a value. */
static double column(const struct sf_chart *c, const double *values, uint32_t n_columns,
                     uint32_t at)
{
    uint64_t from = (uint64_t)at * c->n_steps / n_columns,
             to = (uint64_t)(at + 1) * c->n_steps / n_columns, n = 0;
    double sum = 0;
    for (uint64_t i = from; i < to; i++) {
        if (isnan(values[i]))
            continue;
        sum += values[i];
        n++;
    }
    return n ? sum / (double)n : NAN;
}

struct extent {
    double least, most, last;
};

/* Minimum and maximum of the steps themselves: a column may be the mean of several. */
static struct extent chart_extent_of(const struct sf_chart *c, const double *values)
{
    struct extent e = {NAN, NAN, NAN};
    for (uint32_t i = 0; i < c->n_steps; i++) {
        double v = values[i];
        if (isnan(v))
            continue;
        e.least = isnan(e.least) || v < e.least ? v : e.least;
        e.most = isnan(e.most) || v > e.most ? v : e.most;
        e.last = v;
    }
    return e;
}

/* Height of a bar in eighths of a line; the chart has `height` lines. Charts begin at 0 unless
 * there are negative values. A value is always visible, also if it is very small. */
static unsigned eighths(double v, double low, double high, unsigned height)
{
    double share = high > low ? (v - low) / (high - low) : 0;
    double n = share * height * LEVELS + 0.5;
    if (!(n >= 2))
        return v > low ? 2 : 1;
    return n > height * LEVELS ? height * LEVELS : (unsigned)n;
}

static void chart_add_block(struct sf_buf *out, unsigned n_eighths)
{
    if (n_eighths == 0)
        sf_buf_add_u8(out, ' ');
    else
        sf_utf8_add(out, 0x2580 + (n_eighths < LEVELS ? n_eighths : LEVELS));
}

/* ---- layout ---- */

uint32_t sf_chart_columns(size_t width)
{
    size_t rest = width > LABEL_MIN + 3 * NUMBER_COLUMNS + 2
                      ? width - LABEL_MIN - 3 * NUMBER_COLUMNS - 2
                      : 10;
    return rest < 10 ? 10 : rest > 120 ? 120 : (uint32_t)rest;
}

static void add_clock(struct sf_buf *out, int64_t ns)
{
    struct sf_buf text = {0};
    sf_time_text_add(&text, ns > 0 ? (uint64_t)ns : 0);
    sf_buf_add_str(out, sf_str_part(sf_buf_str(&text), CLOCK_AT, CLOCK_LEN));
    sf_buf_done(&text);
}

static void add_axis(const struct sf_chart *c, uint32_t n_columns, size_t indent,
                     struct sf_buf *out)
{
    sf_units_pad(out, indent);
    add_clock(out, c->first_ns);
    if (n_columns > 2 * CLOCK_LEN + 1) {
        sf_units_pad(out, n_columns - 2 * CLOCK_LEN);
        add_clock(out, c->first_ns + (int64_t)(c->n_steps - 1) * c->step_ns);
    }
    sf_buf_add_str(out, SF_STR(" UTC\n"));
}

/* ---- one series ---- */

static void draw_tall(const struct sf_chart *c, uint32_t n_columns, struct sf_buf *out)
{
    const double *values = c->series->values;
    struct extent e = chart_extent_of(c, values);
    double low = e.least < 0 ? e.least : 0;
    struct sf_chart zero = {.unit = c->unit}; /* the zero of the axis is not an estimate */
    for (unsigned row = HEIGHT; row-- > 0;) {
        if (row == HEIGHT - 1)
            chart_add_right(out, c, e.most, NUMBER_COLUMNS);
        else if (row == 0)
            chart_add_right(out, low < 0 ? c : &zero, low, NUMBER_COLUMNS);
        else
            sf_units_pad(out, NUMBER_COLUMNS);
        sf_buf_add_str(out, SF_STR(" |"));
        for (uint32_t i = 0; i < n_columns; i++) {
            double v = column(c, values, n_columns, i);
            unsigned n = isnan(v) ? 0 : eighths(v, low, e.most, HEIGHT);
            chart_add_block(out, n > row * LEVELS ? n - row * LEVELS : 0);
        }
        while (out->len && out->p[out->len - 1] == ' ')
            out->len--;
        sf_buf_add_u8(out, '\n');
    }
    add_axis(c, n_columns, NUMBER_COLUMNS + 2, out);
    sf_units_text(out, c->series->label, 60);
    sf_buf_add_str(out, SF_STR(": least "));
    chart_add_value(out, c, e.least);
    sf_buf_add_str(out, SF_STR(", most "));
    chart_add_value(out, c, e.most);
    sf_buf_add_str(out, SF_STR(", last "));
    chart_add_value(out, c, e.last);
    sf_buf_add_u8(out, '\n');
}

/* ---- several series ---- */

static void chart_draw_line(const struct sf_chart *c, const struct sf_chart_series *s, size_t label,
                            uint32_t n_columns, double low, double high, struct sf_buf *out)
{
    struct extent e = chart_extent_of(c, s->values);
    size_t width = sf_units_text(out, s->label, label - 1);
    sf_units_pad(out, label - width);
    for (uint32_t i = 0; i < n_columns; i++) {
        double v = column(c, s->values, n_columns, i);
        chart_add_block(out, isnan(v) ? 0 : eighths(v, low, high, 1));
    }
    chart_add_right(out, c, e.least, NUMBER_COLUMNS);
    chart_add_right(out, c, e.most, NUMBER_COLUMNS);
    chart_add_right(out, c, e.last, NUMBER_COLUMNS);
    sf_buf_add_u8(out, '\n');
}

static void draw_lines(const struct sf_chart *c, size_t width, uint32_t n_columns,
                       struct sf_buf *out)
{
    size_t used = n_columns + 3 * NUMBER_COLUMNS,
           label = width > used + LABEL_MIN ? width - used - 1 : LABEL_MIN;
    double low = 0, high = 0;
    for (uint32_t i = 0; i < c->n_series; i++) { /* one scale for all, so that lines can be
                                                  * compared */
        struct extent e = chart_extent_of(c, c->series[i].values);
        low = e.least < low ? e.least : low;
        high = e.most > high ? e.most : high;
    }
    label = label > 60 ? 60 : label;
    sf_units_pad(out, label + n_columns);
    sf_buf_print(out, "%*s%*s%*s\n", NUMBER_COLUMNS, "least", NUMBER_COLUMNS, "most",
                 NUMBER_COLUMNS, "last");
    for (uint32_t i = 0; i < c->n_series; i++)
        chart_draw_line(c, &c->series[i], label, n_columns, low, high, out);
    add_axis(c, n_columns, label, out);
}

void sf_chart_draw(const struct sf_chart *c, size_t width, struct sf_buf *out)
{
    uint32_t n_columns = sf_chart_columns(width);
    if (c->n_series == 0 || c->n_steps == 0)
        return;
    n_columns = c->n_steps < n_columns ? c->n_steps : n_columns;
    if (c->n_series == 1 && !c->is_flat)
        draw_tall(c, n_columns, out);
    else
        draw_lines(c, width, n_columns, out);
}
