/* claims_fit.c - what a span's samples come to, no more than there was. */
#include "join/claims_fit.h"

#include <stdlib.h>
#include <string.h>

#include "flame/batch_tree.h"
#include "join/span_figures.h"
#include "join/time_samples.h"
#include "link/claims_by_span.h"
#include "link/share_cut.h"

struct fit {
    const struct sf_link_set *set;
    struct sf_claim *claims;
    struct sf_claims_by_span by_span;
    uint64_t *threads; /* scratch: of one span's claims */
    bool is_cpu;
};

static bool is_type(const struct sf_link_set *set, sf_str word)
{
    return sf_str_eq(set->type.sample_unit, SF_STR("nanoseconds")) &&
           sf_str_eq(set->type.sample_type, word);
}

static bool is_own(const struct fit *f, uint32_t span, const struct sf_claim *c, bool is_own_only)
{
    uint64_t thread = f->set->samples[c->sample].thread, own = f->set->tree.places[span].thread;
    return !is_own_only || thread == 0 || own == 0 || thread == own;
}

static int64_t sum_of(const struct fit *f, uint32_t span, bool is_own_only)
{
    int64_t sum = 0;
    for (uint32_t k = f->by_span.first[span]; k < f->by_span.first[span + 1]; k++) {
        const struct sf_claim *c = &f->claims[f->by_span.claims[k]];
        if (c->value <= 0 || !is_own(f, span, c, is_own_only))
            continue;
        sum = sf_add_sat_i64(sum, c->value);
    }
    return sum;
}

static void scale(struct fit *f, uint32_t span, bool is_own_only, int64_t sum, int64_t to)
{
    struct sf_share_cut cut = {.value = to};
    for (uint32_t k = f->by_span.first[span]; k < f->by_span.first[span + 1]; k++) {
        struct sf_claim *c = &f->claims[f->by_span.claims[k]];
        if (c->value > 0 && is_own(f, span, c, is_own_only))
            c->value = sf_share_cut_next(&cut, (double)c->value / (double)sum);
    }
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Threads that the span's samples name; 0: one of them names none, so nobody knows. */
static uint32_t count_threads(const struct fit *f, uint32_t span)
{
    uint32_t n = 0, n_threads = 0;
    for (uint32_t k = f->by_span.first[span]; k < f->by_span.first[span + 1]; k++) {
        const struct sf_claim *c = &f->claims[f->by_span.claims[k]];
        f->threads[n] = f->set->samples[c->sample].thread;
        if (f->threads[n++] == 0)
            return 0;
    }
    if (n > 0)
        qsort(f->threads, n, sizeof(*f->threads), by_size);
    for (uint32_t i = 0; i < n; i++)
        n_threads += i == 0 || f->threads[i] != f->threads[i - 1];
    return n_threads;
}

/* Parts of profiles that name neither span, time nor thread: of what ran in its process then. */
static bool is_guessed(const struct fit *f, uint32_t span)
{
    for (uint32_t k = f->by_span.first[span]; k < f->by_span.first[span + 1]; k++) {
        const struct sf_claim *c = &f->claims[f->by_span.claims[k]];
        const struct sf_link_sample *s = &f->set->samples[c->sample];
        if (c->grade != SF_GRADE_WINDOW || s->has_time || s->thread != 0)
            return false;
    }
    return true;
}

static int64_t fit_span(struct fit *f, uint32_t span)
{
    const struct sf_span_place *p = &f->set->tree.places[span];
    uint64_t duration_ns = p->end_ns - p->start_ns;
    int64_t exact = f->is_cpu ? sf_span_figures_of(f->set, span).ns[SF_PART_CPU] : SF_LEDGER_UNSAID;
    int64_t sum = sum_of(f, span, exact >= 0);
    if (exact >= 0) {
        exact = (uint64_t)exact < duration_ns ? exact : (int64_t)duration_ns;
        if (sum > 0)
            scale(f, span, true, sum, exact);
        return 0;
    }
    uint32_t n_threads = count_threads(f, span);
    if (n_threads == 0 && is_guessed(f, span)) { /* it need not have had the process for itself */
        n_threads = 1;
        duration_ns = p->self_ns;
    }
    if (n_threads == 0 || (double)sum <= (double)duration_ns * n_threads)
        return 0;
    int64_t most = (int64_t)(duration_ns * n_threads);
    scale(f, span, false, sum, most);
    return sum - most;
}

/* Spans below another one, each with room for its own, may have more than that one lasted. */
static int64_t fit_whole(struct fit *f, uint32_t n_claims, uint32_t whole)
{
    const struct sf_span_place *p = &f->set->tree.places[whole];
    uint32_t n_threads = 0;
    int64_t sum = 0;
    for (uint32_t i = 0; i < n_claims; i++) {
        f->threads[i] = f->set->samples[f->claims[i].sample].thread;
        if (f->threads[i] == 0)
            return 0; /* nobody knows on how many */
        sum = sf_add_sat_i64(sum, f->claims[i].value > 0 ? f->claims[i].value : 0);
    }
    qsort(f->threads, n_claims, sizeof(*f->threads), by_size);
    for (uint32_t i = 0; i < n_claims; i++)
        n_threads += i == 0 || f->threads[i] != f->threads[i - 1];
    uint64_t most = (p->end_ns - p->start_ns) * n_threads;
    if ((double)sum <= (double)most)
        return 0;
    struct sf_share_cut cut = {.value = (int64_t)most};
    for (uint32_t i = 0; i < n_claims; i++)
        if (f->claims[i].value > 0)
            f->claims[i].value = sf_share_cut_next(&cut, (double)f->claims[i].value / (double)sum);
    return sum - (int64_t)most;
}

int64_t sf_claims_fit_measured(const struct sf_link_set *set, const bool *is_wanted)
{
    int64_t sum = 0;
    if (!is_type(set, SF_STR("cpu")))
        return SF_LEDGER_UNSAID;
    for (uint32_t i = 0; i < set->n_own; i++) {
        const struct sf_span_place *p = &set->tree.places[i];
        int64_t most = (int64_t)(p->end_ns - p->start_ns);
        if (!is_wanted[i])
            continue;
        int64_t own = sf_span_figures_of(set, i).ns[SF_PART_CPU];
        if (own < 0)
            return SF_LEDGER_UNSAID;
        sum = sf_add_sat_i64(sum, own < most ? own : most);
    }
    return sum;
}

enum sf_err sf_claims_fit(const struct sf_link_set *set, struct sf_attribution *a, uint32_t whole,
                          struct sf_arena *req, int64_t *out_cut, struct sf_why *why)
{
    struct fit f = {.set = set, .is_cpu = is_type(set, SF_STR("cpu"))};
    sf_str type;
    *out_cut = 0;
    if (a->n_claims == 0 || !sf_str_eq(set->type.sample_unit, SF_STR("nanoseconds")))
        return SF_OK;
    if (!sf_profile_type_print(&set->type, req, &type))
        return sf_no_room(why, "the query");
    if (!f.is_cpu && sf_time_kind_of(type) == SF_TIME_NONE)
        return SF_OK;
    f.claims = sf_arena_new_n(req, a->n_claims, sizeof(*f.claims));
    f.threads = sf_arena_new_n(req, a->n_claims, sizeof(*f.threads));
    if (!f.claims || !f.threads || !sf_claims_by_span_make(a, set->tree.n_spans, req, &f.by_span))
        return sf_no_room(why, "the query");
    memcpy(f.claims, a->claims, a->n_claims * sizeof(*f.claims));
    for (uint32_t i = 0; i < set->n_own; i++)
        if (f.by_span.first[i] < f.by_span.first[i + 1])
            *out_cut = sf_add_sat_i64(*out_cut, fit_span(&f, i));
    if (whole != SF_NOBODY)
        *out_cut = sf_add_sat_i64(*out_cut, fit_whole(&f, a->n_claims, whole));
    a->claims = f.claims;
    return SF_OK;
}
