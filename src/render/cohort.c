/* cohort.c - the merged flame graph of a set of spans, as JSON and text. */
#include "render/cohort.h"

#include <math.h>

#include "render/grades.h"
#include "render/known.h"
#include "render/profile_json.h"
#include "render/units.h"

static void cohort_write_f64(struct sf_json_writer *w, const char *key, double v)
{
    sf_json_write_key(w, sf_str_from(key));
    sf_json_write_f64(w, v);
}

enum sf_err sf_cohort_json(const struct sf_cohort_view *c, struct sf_buf *out, struct sf_why *why)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("query"), c->query);
    sf_json_write_key_str(&w, SF_STR("type"), c->type);
    sf_json_write_key_str(&w, SF_STR("unit"), c->view.tree.unit);
    sf_json_write_key_str(&w, SF_STR("per"), c->is_sum ? SF_STR("all") : SF_STR("span"));
    sf_json_write_key(&w, SF_STR("isSelf"));
    sf_json_write_bool(&w, c->is_self);
    sf_json_write_key_u64(&w, SF_STR("found"), c->n_found);
    sf_json_write_key(&w, SF_STR("isFoundEstimate"));
    sf_json_write_bool(&w, c->is_estimate);
    sf_json_write_key_u64(&w, SF_STR("spans"), c->n_spans);
    sf_json_write_key(&w, SF_STR("isSample"));
    sf_json_write_bool(&w, c->is_sample);
    sf_json_write_key_u64(&w, SF_STR("sampledSpans"), c->n_sampled);
    sf_json_write_key_u64(&w, SF_STR("samples"), c->grades.n_samples);
    sf_json_write_key(&w, SF_STR("looks"));
    sf_json_write_f64(&w, c->view.taken);
    sf_json_write_key_str(&w, SF_STR("trust"), sf_str_from(c->trust));
    cohort_write_f64(&w, "meanDurationNs", c->mean_duration_ns);
    cohort_write_f64(&w, "meanValue", c->mean_value);
    sf_grades_json(&c->grades, &w);
    sf_known_json(&c->known, &w);
    sf_json_write_key_str(&w, SF_STR("note"), c->note);
    if (c->n_thinned > 0) {
        sf_json_write_key_u64(&w, SF_STR("thinnedSpans"), c->n_thinned);
        sf_json_write_key_u64(&w, SF_STR("weightedSpans"), c->n_weighted);
    }
    sf_json_write_key_str(&w, SF_STR("reason"), c->reason);
    sf_json_write_key(&w, SF_STR("types"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < c->n_types; i++)
        sf_json_write_str(&w, c->types[i]);
    sf_json_write_array_end(&w);
    sf_json_write_key(&w, SF_STR("profile"));
    sf_profile_json_write(&c->view, &w);
    sf_json_write_object_end(&w);
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "span set: no memory for the answer");
}

/* For all time of the spans: the bars add up to their mean duration. */
static void time_words(const struct sf_cohort_view *c, struct sf_buf *out)
{
    sf_buf_add_str(out, SF_STR(", mean "));
    sf_units_duration(out, (uint64_t)llround(c->mean_duration_ns));
    sf_buf_print(out, "\nall time, %s, from %llu samples (%s)\n",
                 c->is_sum ? "sums" : "mean per span", (unsigned long long)c->known.n_samples,
                 sf_grades_trust(c->trust));
}

static void sample_words(const struct sf_cohort_view *c, struct sf_buf *out)
{
    sf_buf_print(out, " (%llu with samples), mean ", (unsigned long long)c->n_sampled);
    sf_units_duration(out, (uint64_t)llround(c->mean_duration_ns));
    sf_buf_add_str(out, SF_STR(", "));
    if (c->view.is_few) {
        sf_known_few(out, &c->view);
    } else {
        sf_buf_add_str(out, c->view.is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
        sf_units_amount(out, llround(c->mean_value), c->view.tree.unit);
        sf_buf_add_str(out, SF_STR(" sampled"));
    }
    double taken = fmax(c->view.taken, (double)c->grades.n_samples);
    sf_buf_print(out, "\n%s, from %s%.0f sample%s", c->is_sum ? "sums" : "mean per span",
                 c->view.is_estimate ? SF_ESTIMATE_MARK : "", taken,
                 taken > 0.5 && taken < 1.5 ? "" : "s");
    sf_grades_words(&c->grades, taken, out);
    if (c->view.is_estimate)
        sf_buf_print(out, " (" SF_ESTIMATE_MARK " estimate; %.0f known)\n", c->sure_taken);
    else
        sf_buf_print(out, " (%s)\n", sf_grades_trust(c->trust));
}

void sf_cohort_words(const struct sf_cohort_view *c, struct sf_buf *out)
{
    sf_units_text(out, c->query, 160);
    sf_buf_print(out, "\n%llu spans", (unsigned long long)c->n_spans);
    if (c->n_found > c->n_spans)
        sf_buf_print(out, " of %s%llu", c->is_estimate ? SF_ESTIMATE_MARK : "",
                     (unsigned long long)c->n_found);
    (sf_str_eq(c->type, SF_STR("time")) ? time_words : sample_words)(c, out);
    if (c->note.len)
        sf_buf_print(out, "%.*s\n", SF_STR_ARG(c->note));
    if (c->reason.len > 0) {
        sf_units_prose(out, c->reason, 0, 0);
        sf_buf_add_u8(out, '\n');
    }
}
