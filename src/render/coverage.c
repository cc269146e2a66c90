/* coverage.c - how well a service's traces and profiles are joined, as JSON and text. */
#include "render/coverage.h"

#include <stdlib.h>

#include "render/grades.h"
#include "render/units.h"

/* ---- JSON ---- */

static void coverage_write_f64(struct sf_json_writer *w, const char *key, double v)
{
    sf_json_write_key(w, sf_str_from(key));
    sf_json_write_f64(w, v);
}

static void coverage_write_time(struct sf_json_writer *w, const char *key, int64_t ns)
{
    sf_json_write_key(w, sf_str_from(key));
    sf_json_write_u64_text(w, ns > 0 ? (uint64_t)ns : 0);
}

static void coverage_write_types(struct sf_json_writer *w, const struct sf_coverage *c)
{
    sf_json_write_key(w, SF_STR("types"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < c->n_types; i++) {
        const struct sf_coverage_type *t = &c->types[i];
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("type"), t->type);
        sf_json_write_key_u64(w, SF_STR("profiles"), t->n_profiles);
        sf_json_write_key_u64(w, SF_STR("samples"), t->n_samples);
        coverage_write_f64(w, "rateHz", t->rate_hz);
        sf_json_write_key_u64(w, SF_STR("spacingNs"), t->spacing_ns);
        sf_json_write_key_u64(w, SF_STR("gapNs"), t->gap_ns);
        sf_json_write_key(w, SF_STR("gaps"));
        sf_json_write_array(w);
        for (uint32_t k = 0; k < t->n_gaps; k++) {
            sf_json_write_object(w);
            coverage_write_time(w, "fromUnixNano", t->gaps[k].from_ns);
            coverage_write_time(w, "untilUnixNano", t->gaps[k].until_ns);
            sf_json_write_object_end(w);
        }
        sf_json_write_array_end(w);
        sf_json_write_key_u64(w, SF_STR("moreGaps"), t->n_more_gaps);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
    sf_json_write_key_u64(w, SF_STR("moreTypes"), c->n_more_types);
}

/* In samples, like those received: a record in `grades` may represent several. */
static void write_counts(struct sf_json_writer *w, const struct sf_coverage *c)
{
    coverage_write_f64(w, "knownSamples", c->known);
    coverage_write_f64(w, "estimatedSamples", c->estimated);
    sf_json_write_key(w, SF_STR("receivedByGrade"));
    sf_json_write_object(w);
    for (uint32_t i = 0; i < SF_GRADE_ROWS; i++)
        coverage_write_f64(w, sf_grades_name((enum sf_grade_row)i), c->counts[i]);
    sf_json_write_object_end(w);
}

static void coverage_write_link(struct sf_json_writer *w, const struct sf_coverage *c)
{
    sf_json_write_key(w, SF_STR("link"));
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("type"), c->type);
    sf_json_write_key_u64(w, SF_STR("spans"), c->n_checked);
    sf_json_write_key_u64(w, SF_STR("sampledSpans"), c->n_sampled);
    sf_json_write_key_u64(w, SF_STR("thinnedSpans"), c->n_thinned);
    if (c->n_thinned)
        sf_json_write_key_str(w, SF_STR("thinned"), c->thinned);
    sf_json_write_key_str(w, SF_STR("note"), c->note);
    coverage_write_f64(w, "expectedSamples", c->expected);
    coverage_write_f64(w, "receivedSamples", c->received);
    write_counts(w, c);
    sf_grades_json(&c->grades, w);
    if (c->tagged_share >= 0)
        coverage_write_f64(w, "taggedShare", c->tagged_share);
    if (c->symbolised_share >= 0)
        coverage_write_f64(w, "symbolisedShare", c->symbolised_share);
    sf_json_write_object_end(w);
}

static void write_skews(struct sf_json_writer *w, const struct sf_coverage *c)
{
    sf_json_write_key_u64(w, SF_STR("calls"), c->n_calls);
    sf_json_write_key(w, SF_STR("skew"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < c->n_skews; i++) {
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("caller"), c->skews[i].caller);
        sf_json_write_key_u64(w, SF_STR("calls"), c->skews[i].n_calls);
        sf_json_write_key(w, SF_STR("offsetNs"));
        sf_json_write_i64(w, c->skews[i].offset_ns);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
    sf_json_write_key_u64(w, SF_STR("moreSkewedCalls"), c->n_more_skews);
}

void sf_coverage_json(const struct sf_coverage *c, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("service"), c->service);
    sf_json_write_key_str(&w, SF_STR("language"), c->language);
    if (c->span.len)
        sf_json_write_key_str(&w, SF_STR("span"), c->span);
    coverage_write_time(&w, "fromUnixNano", c->from_ns);
    coverage_write_time(&w, "untilUnixNano", c->until_ns);
    sf_json_write_key_u64(&w, SF_STR("spans"), c->n_spans);
    coverage_write_types(&w, c);
    coverage_write_link(&w, c);
    write_skews(&w, c);
    sf_json_write_key(&w, SF_STR("missing"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < c->n_missing; i++) {
        sf_json_write_object(&w);
        sf_json_write_key_str(&w, SF_STR("kind"), sf_str_from(c->missing[i].kind));
        sf_json_write_key_str(&w, SF_STR("sentence"), sf_str_from(c->missing[i].sentence));
        sf_json_write_key(&w, SF_STR("lines"));
        sf_json_write_array(&w);
        for (int k = 0; k < 2; k++)
            if (c->missing[i].lines[k].len)
                sf_json_write_str(&w, c->missing[i].lines[k]);
        sf_json_write_array_end(&w);
        sf_json_write_object_end(&w);
    }
    sf_json_write_array_end(&w);
    sf_json_write_key(&w, SF_STR("notes"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < c->n_notes; i++) {
        sf_json_write_object(&w);
        sf_json_write_key_str(&w, SF_STR("kind"), sf_str_from(c->notes[i].kind));
        sf_json_write_key_str(&w, SF_STR("sentence"), sf_str_from(c->notes[i].sentence));
        sf_json_write_object_end(&w);
    }
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
}

/* ---- text ---- */

static void coverage_add_type(struct sf_buf *out, const struct sf_coverage_type *t)
{
    sf_buf_add_str(out, SF_STR("  "));
    sf_units_text(out, t->type, 60);
    sf_buf_print(out, ": %llu profiles, %llu samples", (unsigned long long)t->n_profiles,
                 (unsigned long long)t->n_samples);
    if (t->rate_hz > 0)
        sf_buf_print(out, ", %.4g a second", t->rate_hz);
    if (t->spacing_ns > 0) {
        sf_buf_add_str(out, SF_STR(", one every "));
        sf_units_duration(out, t->spacing_ns);
    }
    uint32_t n_gaps = t->n_gaps + t->n_more_gaps;
    if (n_gaps > 0) {
        sf_buf_print(out, ", %u gap%s of ", n_gaps, n_gaps == 1 ? "" : "s");
        sf_units_duration(out, t->gap_ns);
    }
    sf_buf_add_u8(out, '\n');
}

static void coverage_add_link(struct sf_buf *out, const struct sf_coverage *c)
{
    if (c->n_checked == 0)
        return;
    sf_buf_print(out, "spans       %llu checked, %llu with samples",
                 (unsigned long long)c->n_checked, (unsigned long long)c->n_sampled);
    if (c->expected > 0 && c->received > c->expected) /* more than expected: several threads at
                                                       * once */
        sf_buf_print(out, ": %.0f samples", c->received);
    else if (c->expected > 0)
        sf_buf_print(out, ": %.0f samples of about %.0f expected a thread", c->received,
                     c->expected);
    for (uint32_t i = 0; i < SF_GRADE_ROWS; i++)
        if (c->counts[i] >= 0.5)
            sf_buf_print(out, ", %.0f %s", c->counts[i], sf_grades_name((enum sf_grade_row)i));
    sf_buf_add_u8(out, '\n');
    if (c->n_thinned) {
        sf_units_prose(out, c->thinned, 0, 12);
        sf_buf_add_u8(out, '\n');
    }
    if (c->note.len) {
        sf_units_prose(out, c->note, 0, 12);
        sf_buf_add_u8(out, '\n');
    }
    if (c->received > 0)
        sf_buf_print(out, "known       %.0f of %.0f samples are known to belong to their span%s\n",
                     c->known, c->received, c->estimated >= 0.5 ? "; the rest are estimates" : "");
    if (c->tagged_share >= 0) {
        sf_buf_add_str(out, SF_STR("tagged      "));
        sf_units_percent(out, c->tagged_share);
        sf_buf_add_str(out, SF_STR(" of the samples name a span\n"));
    }
    if (c->symbolised_share >= 0) {
        sf_buf_add_str(out, SF_STR("symbolised  "));
        sf_units_percent(out, c->symbolised_share);
        sf_buf_add_str(out, SF_STR(" of the samples have a name\n"));
    }
}

static void add_skew(struct sf_buf *out, const struct sf_coverage_skew *s)
{
    sf_buf_add_str(out, SF_STR("clock       "));
    sf_units_duration(out, (uint64_t)llabs((long long)s->offset_ns));
    sf_buf_print(out, " %s ", s->offset_ns < 0 ? "behind" : "ahead of");
    sf_units_text(out, s->caller, 60);
    sf_buf_print(out, " in %llu calls\n", (unsigned long long)s->n_calls);
}

void sf_coverage_text(const struct sf_coverage *c, struct sf_buf *out)
{
    sf_units_text(out, c->service, 60);
    if (c->span.len) {
        sf_buf_add_str(out, SF_STR("  "));
        sf_units_text(out, c->span, 60);
    }
    if (c->language.len)
        sf_buf_print(out, "  (%.*s)", SF_STR_ARG(c->language));
    sf_buf_print(out, "\n%llu spans, %u profile type%s\n", (unsigned long long)c->n_spans,
                 c->n_types, c->n_types == 1 ? "" : "s");
    for (uint32_t i = 0; i < c->n_types; i++)
        coverage_add_type(out, &c->types[i]);
    if (c->n_more_types > 0)
        sf_buf_print(out, "  and %u more types\n", c->n_more_types);
    coverage_add_link(out, c);
    for (uint32_t i = 0; i < c->n_skews; i++)
        add_skew(out, &c->skews[i]);
    if (c->n_more_skews > 0)
        sf_buf_print(out, "clock       %llu calls of further callers contradict it, too\n",
                     (unsigned long long)c->n_more_skews);
    sf_buf_add_str(out, c->n_missing ? SF_STR("\nmissing\n") : SF_STR("\nnothing is missing\n"));
    for (uint32_t i = 0; i < c->n_missing; i++) {
        sf_buf_print(out, "  %s\n", c->missing[i].sentence);
        for (int k = 0; k < 2; k++) {
            if (c->missing[i].lines[k].len == 0)
                continue;
            sf_buf_add_str(out, SF_STR("      "));
            sf_units_text(out, c->missing[i].lines[k], 300);
            sf_buf_add_u8(out, '\n');
        }
    }
    for (uint32_t i = 0; i < c->n_notes; i++) {
        sf_buf_add_str(out, i == 0 ? SF_STR("\nas its profiler measures\n  ") : SF_STR("  "));
        sf_units_prose(out, sf_str_from(c->notes[i].sentence), 2, 2);
        sf_buf_add_u8(out, '\n');
    }
}
