/* exposition.c - writes metrics as text. */
#include "meter/exposition.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/text.h"
#include "base/time_unit.h"

enum { MAX_LABELS = 24, MAX_VALUE_LEN = 2048 };

const char *const sf_exposition_type_plain = "text/plain; version=0.0.4; charset=utf-8";
const char *const sf_exposition_type_open =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

static const char *type_word(const struct sf_exposition *e)
{
    switch (e->type) {
    case SF_METRIC_COUNTER: return "counter";
    /* OpenMetrics has no counter without _total, and dashboards need the name. */
    case SF_METRIC_COUNTER_BARE: return e->is_open_metrics ? "unknown" : "counter";
    case SF_METRIC_GAUGE: return "gauge";
    case SF_METRIC_HISTOGRAM: return "histogram";
    }
    return "untyped";
}

void sf_exposition_family(struct sf_exposition *e, const char *name, enum sf_metric_type type,
                          const char *help)
{
    e->family = name;
    e->type = type;
    const char *suffix = type == SF_METRIC_COUNTER && !e->is_open_metrics ? "_total" : "";
    sf_buf_print(e->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix,
                 type_word(e));
}

static void add_label_value(struct sf_buf *out, sf_str val)
{
    val.len = sf_utf8_cut(val, MAX_VALUE_LEN);
    while (val.len > 0) {
        uint32_t code;
        size_t len = sf_utf8_char_len(val, &code);
        if (len == 0) {
            sf_buf_add_u8(out, '?');
            len = 1;
        } else if (code == '\n') {
            sf_buf_add(out, "\\n", 2);
        } else {
            if (code == '"' || code == '\\')
                sf_buf_add_u8(out, '\\');
            sf_buf_add(out, val.p, len);
        }
        val = sf_str_from_at(val, len);
    }
}

/* Figures of one tenant are shown only to callers with access to it. */
static bool exposition_is_shown(const struct sf_exposition *e, const struct sf_metric_label *labels,
                                size_t n_labels)
{
    for (size_t i = 0; i < n_labels && e->tenants.len; i++) {
        sf_str rest = e->tenants, one;
        bool is_in = strcmp(labels[i].name, "tenant") != 0;
        while (!is_in && sf_str_split_next(&rest, ',', &one))
            is_in = sf_str_eq(one, labels[i].val);
        if (!is_in)
            return false;
    }
    return true;
}

static void add_name_and_labels(struct sf_exposition *e, const char *suffix,
                                const struct sf_metric_label *labels, size_t n_labels,
                                const char *le)
{
    sf_buf_print(e->out, "%s%s", e->family, suffix);
    if (n_labels == 0 && !le) {
        sf_buf_add_u8(e->out, ' ');
        return;
    }
    sf_buf_add_u8(e->out, '{');
    for (size_t i = 0; i < n_labels; i++) {
        sf_buf_print(e->out, "%s%s=\"", i ? "," : "", labels[i].name);
        add_label_value(e->out, labels[i].val);
        sf_buf_add_u8(e->out, '"');
    }
    if (le)
        sf_buf_print(e->out, "%sle=\"%s\"", n_labels ? "," : "", le);
    sf_buf_add(e->out, "} ", 2);
}

static const char *value_suffix(const struct sf_exposition *e)
{
    return e->type == SF_METRIC_COUNTER ? "_total" : "";
}

static void add_f64(struct sf_buf *out, double val)
{
    if (isnan(val))
        sf_buf_add(out, "NaN", 3);
    else if (isinf(val))
        sf_buf_add(out, val < 0 ? "-Inf" : "+Inf", 4);
    else
        sf_buf_print(out, "%.9g", val);
}

void sf_exposition_u64(struct sf_exposition *e, const struct sf_metric_label *labels,
                       size_t n_labels, uint64_t val)
{
    if (!exposition_is_shown(e, labels, n_labels))
        return;
    add_name_and_labels(e, value_suffix(e), labels, n_labels, NULL);
    sf_buf_print(e->out, "%llu\n", (unsigned long long)val);
}

void sf_exposition_f64(struct sf_exposition *e, const struct sf_metric_label *labels,
                       size_t n_labels, double val)
{
    if (!exposition_is_shown(e, labels, n_labels))
        return;
    add_name_and_labels(e, value_suffix(e), labels, n_labels, NULL);
    add_f64(e->out, val);
    sf_buf_add_u8(e->out, '\n');
}

static void exposition_add_exemplar(struct sf_buf *out, const struct sf_exemplar *x)
{
    char hex[33];
    sf_trace_id_render(x->trace_id, hex);
    sf_buf_print(out, " # {traceID=\"%s\"} %.9g %lld.%03lld", hex, x->value_s,
                 (long long)(x->time_ns / SF_NS_PER_S),
                 (long long)(x->time_ns / SF_NS_PER_MS % 1000));
}

static void add_bucket(struct sf_exposition *e, const struct sf_metric_label *labels,
                       size_t n_labels, const char *le, uint64_t total,
                       const struct sf_exemplar *exemplar)
{
    add_name_and_labels(e, "_bucket", labels, n_labels, le);
    sf_buf_print(e->out, "%llu", (unsigned long long)total);
    if (e->is_open_metrics && exemplar && exemplar->value_s >= 0)
        exposition_add_exemplar(e->out, exemplar);
    sf_buf_add_u8(e->out, '\n');
}

void sf_exposition_histogram(struct sf_exposition *e, const struct sf_metric_label *labels,
                             size_t n_labels, const double *bounds, size_t n_bounds,
                             const uint64_t *counts, double sum,
                             const struct sf_exemplar *exemplars)
{
    if (!exposition_is_shown(e, labels, n_labels))
        return;
    SF_ASSERT(n_labels <= MAX_LABELS);
    uint64_t total = 0;
    for (size_t i = 0; i <= n_bounds; i++) {
        char le[32];
        total += counts[i];
        if (i == n_bounds)
            snprintf(le, sizeof(le), "+Inf");
        else /* OpenMetrics requires a decimal point in floats */
            snprintf(le, sizeof(le), bounds[i] == floor(bounds[i]) ? "%.1f" : "%.9g", bounds[i]);
        add_bucket(e, labels, n_labels, le, total, exemplars ? &exemplars[i] : NULL);
    }
    add_name_and_labels(e, "_sum", labels, n_labels, NULL);
    add_f64(e->out, sum);
    sf_buf_add_u8(e->out, '\n');
    add_name_and_labels(e, "_count", labels, n_labels, NULL);
    sf_buf_print(e->out, "%llu\n", (unsigned long long)total);
}

void sf_exposition_end(struct sf_exposition *e)
{
    if (e->is_open_metrics)
        sf_buf_add(e->out, "# EOF\n", 6);
}

/* The q value of one Accept element in thousandths; 1000 when it has none. */
static int quality(sf_str element)
{
    sf_str part;
    while (sf_str_split_next(&element, ';', &part)) {
        part = sf_str_trim(part);
        double q;
        if (sf_str_starts(part, SF_STR("q=")) && sf_str_to_f64(sf_str_from_at(part, 2), &q) &&
            q >= 0 && q <= 1)
            return (int)(q * 1000);
    }
    return 1000;
}

bool sf_exposition_wants_open_metrics(sf_str accept)
{
    int open = -1, plain = -1;
    sf_str element;
    while (sf_str_split_next(&accept, ',', &element)) {
        sf_str element_trimmed = sf_str_trim(element);
        int q = quality(element_trimmed);
        if (sf_str_starts(element_trimmed, SF_STR("application/openmetrics-text")))
            open = q > open ? q : open;
        else if (sf_str_starts(element_trimmed, SF_STR("text/plain")))
            plain = q > plain ? q : plain;
    }
    return open > 0 && open >= plain;
}
