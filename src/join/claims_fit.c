/* claims_fit.c - limits the samples attributed to a span to the time it had. */
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
    uint64_t *threads; /* scratch: threads of one span's claims */
    bool is_cpu;
};

static bool claims_fit_is_type(const struct sf_link_set *set, sf_str word)
{
    return sf_str_eq(set->type.sample_unit, SF_STR("nanoseconds")) &&
           sf_str_eq(set->type.sample_type, word);
}

static bool claims_fit_is_own(const struct fit *f, uint32_t span, const struct sf_claim *c)
{
    uint64_t thread = f->set->samples[c->sample].thread, own = f->set->tree.places[span].thread;
    return thread == 0 || own == 0 || thread == own;
}

static int64_t claims_fit_sum_of(const struct fit *f, uint32_t span)
{
    int64_t sum = 0;
    for (uint32_t k = f->by_span.first[span]; k < f->by_span.first[span + 1]; k++) {
        const struct sf_claim *c = &f->claims[f->by_span.claims[k]];
        if (c->value <= 0 || !claims_fit_is_own(f, span, c))
            continue;
        sum = sf_add_sat_i64(sum, c->value);
    }
    return sum;
}

static void claims_fit_scale(struct fit *f, uint32_t span, int64_t sum, int64_t to)
{
    struct sf_share_cut cut = {.value = to};
    for (uint32_t k = f->by_span.first[span]; k < f->by_span.first[span + 1]; k++) {
        struct sf_claim *c = &f->claims[f->by_span.claims[k]];
        if (c->value > 0 && claims_fit_is_own(f, span, c))
            c->value = sf_share_cut_next(&cut, (double)c->value / (double)sum);
    }
}

static int claims_fit_by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Reduces the claims at these indexes, in proportion, to the time available. If samples name
 * threads, that is the duration times the number of these threads (samples without a thread ran on
 * one of them). If none does and all are window estimates, it is `alone_ns`: the span need not have
 * had the process for itself. For samples that name the span but no thread, the number of threads
 * is unknown, and nothing is reduced. */
static int64_t fit_places(struct fit *f, const uint32_t *places, uint32_t n, uint64_t duration_ns,
                          uint64_t alone_ns)
{
    int64_t sum = 0;
    uint32_t n_named = 0, n_threads = 0;
    bool is_guessed = true;
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_claim *c = &f->claims[places[i]];
        uint64_t thread = f->set->samples[c->sample].thread;
        sum = sf_add_sat_i64(sum, c->value > 0 ? c->value : 0);
        is_guessed = is_guessed && c->grade == SF_GRADE_WINDOW;
        if (thread != 0)
            f->threads[n_named++] = thread;
    }
    if (n_named > 0)
        qsort(f->threads, n_named, sizeof(*f->threads), claims_fit_by_size);
    for (uint32_t i = 0; i < n_named; i++)
        n_threads += i == 0 || f->threads[i] != f->threads[i - 1];
    double room = n_threads ? (double)duration_ns * n_threads : (double)alone_ns;
    if ((n_threads == 0 && !is_guessed) || (double)sum <= room)
        return 0;
    struct sf_share_cut cut = {.value = (int64_t)room};
    for (uint32_t i = 0; i < n; i++) {
        struct sf_claim *c = &f->claims[places[i]];
        if (c->value > 0)
            c->value = sf_share_cut_next(&cut, (double)c->value / (double)sum);
    }
    return sum - (int64_t)room;
}

/* A sample with a time is one moment of one thread, so it cannot represent more time than the span
 * lasted. */
static int64_t cut_moments(struct fit *f, const uint32_t *places, uint32_t n, uint64_t duration_ns)
{
    int64_t cut = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct sf_claim *c = &f->claims[places[i]];
        if (!f->set->samples[c->sample].has_time || c->value <= 0 ||
            (uint64_t)c->value <= duration_ns)
            continue;
        cut = sf_add_sat_i64(cut, c->value - (int64_t)duration_ns);
        c->value = (int64_t)duration_ns;
    }
    return cut;
}

static int64_t fit_span(struct fit *f, uint32_t span)
{
    const struct sf_span_place *p = &f->set->tree.places[span];
    uint64_t duration_ns = p->end_ns - p->start_ns;
    uint32_t first = f->by_span.first[span], end = f->by_span.first[span + 1];
    int64_t exact = f->is_cpu ? sf_span_figures_of(f->set, span).ns[SF_PART_CPU] : SF_LEDGER_UNSAID;
    if (exact >= 0) {
        int64_t sum = claims_fit_sum_of(f, span);
        exact = (uint64_t)exact < duration_ns ? exact : (int64_t)duration_ns;
        if (sum > 0)
            claims_fit_scale(f, span, sum, exact);
        return 0;
    }
    const uint32_t *places = f->by_span.claims + first;
    int64_t cut = cut_moments(f, places, end - first, duration_ns);
    return sf_add_sat_i64(cut, fit_places(f, places, end - first, duration_ns, p->self_ns));
}

/* Descendants of a span, each within its own duration, may together exceed the span's duration. */
static enum sf_err fit_whole(struct fit *f, uint32_t n_claims, uint32_t whole, struct sf_arena *req,
                             int64_t *out_cut, struct sf_why *why)
{
    const struct sf_span_place *p = &f->set->tree.places[whole];
    uint32_t *places = sf_arena_new_n(req, n_claims, sizeof(*places));
    if (!places)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < n_claims; i++)
        places[i] = i;
    *out_cut = sf_add_sat_i64(*out_cut, fit_places(f, places, n_claims, p->end_ns - p->start_ns,
                                                   p->end_ns - p->start_ns));
    return SF_OK;
}

int64_t sf_claims_fit_measured(const struct sf_link_set *set, const bool *is_wanted)
{
    int64_t sum = 0;
    if (!claims_fit_is_type(set, SF_STR("cpu")))
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
    struct fit f = {.set = set, .is_cpu = claims_fit_is_type(set, SF_STR("cpu"))};
    sf_str type;
    *out_cut = 0;
    if (a->n_claims == 0 || !sf_str_eq(set->type.sample_unit, SF_STR("nanoseconds")))
        return SF_OK;
    if (!sf_batch_tree_type_print(&set->type, req, &type))
        return sf_no_room(why, "the query");
    if (!f.is_cpu && sf_time_samples_kind_of(type) == SF_TIME_NONE)
        return SF_OK;
    f.claims = sf_arena_new_n(req, a->n_claims, sizeof(*f.claims));
    f.threads = sf_arena_new_n(req, a->n_claims, sizeof(*f.threads));
    if (!f.claims || !f.threads || !sf_claims_by_span_make(a, set->tree.n_spans, req, &f.by_span))
        return sf_no_room(why, "the query");
    memcpy(f.claims, a->claims, a->n_claims * sizeof(*f.claims));
    for (uint32_t i = 0; i < set->n_own; i++)
        if (f.by_span.first[i] < f.by_span.first[i + 1])
            *out_cut = sf_add_sat_i64(*out_cut, fit_span(&f, i));
    a->claims = f.claims;
    return whole == SF_NOBODY ? SF_OK : fit_whole(&f, a->n_claims, whole, req, out_cut, why);
}
