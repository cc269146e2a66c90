#include "render/metrics_result.h"

#include <math.h>

#include "base/time_unit.h"
#include "render/inspected.h"
#include "render/otlp_value.h"
#include "wire/pb_write.h"

enum { PARTIAL = 1 };

static struct sf_inspected metrics_result_inspected(const struct sf_metrics_result *r)
{
    return (struct sf_inspected){r->n_inspected_traces, r->n_inspected_spans, r->read_len,
                                 r->n_blocks, r->is_running || r->is_partial};
}

static int64_t sample_ms(const struct sf_metrics_result *r, uint32_t step)
{
    return (r->from_ns + (int64_t)(step + 1) * r->step_ns) / SF_NS_PER_MS;
}

static bool has_value(double v)
{
    return !isnan(v) && v != 0;
}

/* ---- JSON ---- */

static void json_value(struct sf_json_writer *w, double v)
{
    if (!has_value(v))
        return;
    sf_json_write_key(w, SF_STR("value"));
    sf_json_write_f64(w, v);
}

static void json_time(struct sf_json_writer *w, int64_t ms)
{
    sf_json_write_key(w, SF_STR("timestampMs"));
    sf_json_write_i64_text(w, ms);
}

static void json_labels(struct sf_json_writer *w, struct sf_attrs labels)
{
    sf_json_write_key(w, SF_STR("labels"));
    sf_otlp_value_attrs_json(w, labels);
}

static void json_exemplars(struct sf_json_writer *w, const struct sf_metric_series *s)
{
    sf_json_write_key(w, SF_STR("exemplars"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < s->n_exemplars; i++) {
        sf_json_write_object(w);
        json_labels(w, s->exemplars[i].labels);
        json_value(w, s->exemplars[i].value);
        json_time(w, s->exemplars[i].time_ns / SF_NS_PER_MS);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void json_samples(struct sf_json_writer *w, const struct sf_metrics_result *r,
                         const struct sf_metric_series *s)
{
    sf_json_write_key(w, SF_STR("samples"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < r->n_steps; i++) {
        if (isnan(s->values[i]))
            continue;
        sf_json_write_object(w);
        json_time(w, sample_ms(r, i));
        json_value(w, s->values[i]);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void json_rest(struct sf_json_writer *w, const struct sf_metrics_result *r)
{
    sf_inspected_json(w, metrics_result_inspected(r));
    if (r->is_partial) {
        sf_json_write_key_str(w, SF_STR("status"), SF_STR("PARTIAL"));
        sf_json_write_key_str(w, SF_STR("message"), r->note);
    }
}

static void metrics_result_write_json(const struct sf_metrics_result *r, bool is_instant,
                                      struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("series"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < r->n_series; i++) {
        const struct sf_metric_series *s = &r->series[i];
        sf_json_write_object(&w);
        json_labels(&w, s->labels);
        if (is_instant)
            json_value(&w, s->values[0]);
        else
            json_samples(&w, r, s);
        if (!is_instant && s->n_exemplars)
            json_exemplars(&w, s);
        sf_json_write_object_end(&w);
    }
    sf_json_write_array_end(&w);
    json_rest(&w, r);
    sf_json_write_object_end(&w);
}

void sf_metrics_result_range_json(const struct sf_metrics_result *r, struct sf_buf *out)
{
    metrics_result_write_json(r, false, out);
}

void sf_metrics_result_instant_json(const struct sf_metrics_result *r, struct sf_buf *out)
{
    metrics_result_write_json(r, true, out);
}

/* ---- protobuf ---- */

static void pb_sample(struct sf_buf *out, double value, int64_t ms)
{
    size_t mark = sf_pb_write_begin(out, 2);
    sf_pb_write_double(out, 1, value);
    sf_pb_write_i64(out, 2, ms);
    sf_pb_write_end(out, mark);
}

static void pb_exemplar(struct sf_buf *out, const struct sf_metric_exemplar *e)
{
    size_t mark = sf_pb_write_begin(out, 4);
    sf_otlp_value_attrs_pb(out, 1, e->labels);
    sf_pb_write_double(out, 2, e->value);
    sf_pb_write_i64(out, 3, e->time_ns / SF_NS_PER_MS);
    sf_pb_write_end(out, mark);
}

static void pb_rest(struct sf_buf *out, const struct sf_metrics_result *r)
{
    sf_inspected_pb(out, metrics_result_inspected(r));
    if (r->is_partial) {
        sf_pb_write_u64(out, 3, PARTIAL);
        sf_pb_write_str(out, 4, r->note);
    }
}

static void pb_series(struct sf_buf *out, const struct sf_metrics_result *r,
                      const struct sf_metric_series *s)
{
    size_t mark = sf_pb_write_begin(out, 1);
    sf_otlp_value_attrs_pb(out, 1, s->labels);
    for (uint32_t i = 0; i < r->n_steps; i++) {
        if (!isnan(s->values[i]))
            pb_sample(out, s->values[i], sample_ms(r, i));
    }
    for (uint32_t i = 0; i < s->n_exemplars; i++)
        pb_exemplar(out, &s->exemplars[i]);
    sf_pb_write_end(out, mark);
}

static void pb_instant(struct sf_buf *out, const struct sf_metric_series *s)
{
    size_t mark = sf_pb_write_begin(out, 1);
    sf_otlp_value_attrs_pb(out, 1, s->labels);
    if (has_value(s->values[0]))
        sf_pb_write_double(out, 2, s->values[0]);
    sf_pb_write_end(out, mark);
}

uint32_t sf_metrics_result_pb_part(const struct sf_metrics_result *r, bool is_instant,
                                   uint32_t from, size_t max_len, struct sf_buf *out)
{
    for (; from < r->n_series && out->len < max_len; from++) {
        if (is_instant)
            pb_instant(out, &r->series[from]);
        else
            pb_series(out, r, &r->series[from]);
    }
    pb_rest(out, r);
    return sf_buf_ok(out) ? from : r->n_series;
}
