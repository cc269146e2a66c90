/* span_profile.c - the flame graph of a span and its precision. */
#include "render/span_profile.h"

#include "render/clocks.h"
#include "render/grades.h"
#include "render/keep_state.h"
#include "render/known.h"
#include "render/profile_json.h"
#include "render/units.h"
#include "wire/json_write.h"

static void span_profile_write_head(struct sf_json_writer *w, const struct sf_span_profile *p)
{
    char trace[33], span[17];
    sf_trace_id_render(p->trace, trace);
    sf_span_id_render(p->span, span);
    sf_json_write_key_str(w, SF_STR("traceId"), sf_str_from(trace));
    sf_json_write_key_str(w, SF_STR("spanId"), sf_str_from(span));
    sf_json_write_key_str(w, SF_STR("service"), p->service);
    sf_json_write_key_str(w, SF_STR("name"), p->name);
    sf_json_write_key_u64(w, SF_STR("durationNs"), p->duration_ns);
    sf_json_write_key(w, SF_STR("isSelf"));
    sf_json_write_bool(w, p->is_self);
    if (p->part.len > 0)
        sf_json_write_key_str(w, SF_STR("part"), p->part);
    sf_json_write_key(w, SF_STR("isPartial"));
    sf_json_write_bool(w, p->is_partial);
    sf_json_write_key(w, SF_STR("clockShiftNs"));
    sf_json_write_i64(w, p->clocks.shift_ns);
    sf_clocks_json(&p->clocks, w);
    sf_keep_state_json(&p->keep, w);
}

static void write_share(struct sf_json_writer *w, const struct sf_span_share *s)
{
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("function"), s->function);
    sf_json_write_key(w, SF_STR("share"));
    sf_json_write_f64(w, s->share);
    sf_json_write_key(w, SF_STR("shareLow"));
    sf_json_write_f64(w, s->low);
    sf_json_write_key(w, SF_STR("shareHigh"));
    sf_json_write_f64(w, s->high);
    sf_json_write_object_end(w);
}

/* Also writes the largest one separately, for clients that need only that. */
static void write_shares(struct sf_json_writer *w, const struct sf_span_profile *p)
{
    const struct sf_span_share none = {0};
    sf_json_write_key(w, SF_STR("top"));
    write_share(w, p->n_shares > 0 ? &p->shares[0] : &none);
    sf_json_write_key(w, SF_STR("shares"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < p->n_shares; i++)
        write_share(w, &p->shares[i]);
    sf_json_write_array_end(w);
    sf_json_write_key_u64(w, SF_STR("moreShares"), p->n_more_shares);
}

static void write_worth(struct sf_json_writer *w, const struct sf_span_profile *p)
{
    sf_json_write_key_u64(w, SF_STR("samples"), p->n_samples);
    sf_json_write_key(w, SF_STR("looks"));
    sf_json_write_f64(w, p->taken);
    sf_json_write_key(w, SF_STR("isFew"));
    sf_json_write_bool(w, p->view.is_few);
    sf_json_write_key_u64(w, SF_STR("threads"), p->n_threads);
    sf_json_write_key(w, SF_STR("areThreadsNamed"));
    sf_json_write_bool(w, p->are_threads_named);
    sf_json_write_key(w, SF_STR("mostSamples"));
    sf_json_write_f64(w, p->most_samples);
    if (p->measured_ns >= 0 && p->part.len == 0) {
        sf_json_write_key(w, SF_STR("measuredCpuNs"));
        sf_json_write_i64(w, p->measured_ns);
    }
    sf_json_write_key_str(w, SF_STR("trust"), sf_str_from(p->trust));
    sf_grades_json(&p->grades, w);
    sf_known_json(&p->known, w);
    write_shares(w, p);
    sf_json_write_key_str(w, SF_STR("reason"), p->reason);
    sf_json_write_key(w, SF_STR("types"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < p->n_types; i++)
        sf_json_write_str(w, p->types[i]);
    sf_json_write_array_end(w);
}

static void span_profile_write_timeline(struct sf_json_writer *w, const struct sf_span_profile *p)
{
    sf_json_write_key(w, SF_STR("timeline"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < p->n_moments; i++) {
        const struct sf_span_moment *m = &p->moments[i];
        sf_json_write_array(w);
        sf_json_write_i64(w, m->start_ns);
        sf_json_write_i64(w, m->length_ns);
        sf_json_write_i64(w, m->value);
        sf_json_write_u64(w, m->node);
        sf_json_write_u64(w, m->thread);
        sf_json_write_array_end(w);
    }
    sf_json_write_array_end(w);
}

enum sf_err sf_span_profile_json(const struct sf_span_profile *p, struct sf_buf *out,
                                 struct sf_why *why)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    span_profile_write_head(&w, p);
    write_worth(&w, p);
    sf_json_write_key(&w, SF_STR("profile"));
    sf_profile_json_write(&p->view, &w);
    if (p->has_timeline)
        span_profile_write_timeline(&w, p);
    sf_json_write_object_end(&w);
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "profile: no memory for the answer");
}

void sf_span_profile_words(const struct sf_span_profile *p, struct sf_buf *out)
{
    sf_units_text(out, p->service, 60);
    sf_buf_add_str(out, SF_STR("  "));
    sf_units_text(out, p->name, 60);
    if (p->part.len > 0)
        sf_buf_print(out, "  its part \"%.*s\" of ", SF_STR_ARG(p->part));
    else
        sf_buf_add_str(out,
                       p->is_self ? SF_STR("  this span only, ") : SF_STR("  with children, "));
    sf_units_duration(out, p->duration_ns);
    sf_buf_add_str(out, SF_STR("\n"));
    if (!p->view.is_few && !sf_units_is_count_of(p->view.tree.total, p->view.tree.unit, p->taken)) {
        sf_buf_add_str(out, p->view.is_estimate ? SF_STR(SF_ESTIMATE_MARK) : SF_STR_NONE);
        sf_units_amount(out, p->view.tree.total, p->view.tree.unit);
        sf_buf_add_str(out, SF_STR(" in "));
    }
    /* A profile that adds up equal stacks sends one record for several samples. */
    sf_buf_print(out, "%s%.0f sample%s", p->view.is_estimate ? SF_ESTIMATE_MARK : "", p->taken,
                 p->taken > 0.5 && p->taken < 1.5 ? "" : "s");
    if (p->most_samples >= 1 && p->most_samples >= p->taken)
        sf_buf_print(out, " of about %.0f expected", p->most_samples);
    if (p->n_threads > 1)
        sf_buf_print(out, " on %s%u threads", p->are_threads_named ? "" : "at least ",
                     p->n_threads);
    sf_grades_words(&p->grades, p->taken, out);
    if (p->view.is_estimate)
        sf_buf_print(out, " (" SF_ESTIMATE_MARK " estimate; %.0f known)\n",
                     sf_grades_taken(&p->grades, p->taken, p->known.value, p->known.n_samples));
    else
        sf_buf_print(out, " (%s)\n", sf_grades_trust(p->trust));
    if (p->n_shares > 0) {
        sf_units_text(out, p->shares[0].function, 60);
        sf_buf_print(out, " by itself: %.0f %%%s, 95 %% interval %.0f to %.0f %%\n",
                     100 * p->shares[0].share, p->view.is_estimate ? " of what is known" : "",
                     100 * p->shares[0].low, 100 * p->shares[0].high);
    }
    sf_clocks_words(&p->clocks, out);
    if (p->reason.len > 0) {
        sf_units_prose(out, p->reason, 0, 0);
        sf_buf_add_u8(out, '\n');
    }
}
