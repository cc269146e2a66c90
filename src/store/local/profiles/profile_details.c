/* profile_details.c - reads the detail rows of one source (a service in memory or in one block).
 * For blocks: marks the granules that may contain the requested ids, series and times, decodes only
 * those, and passes on the rows that match. When every row of a granule is requested, only the
 * needed columns are decoded. */
#include "store/local/profiles/profile_details.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "model/process.h"

/* Rows may be this far outside the times of their profiles: some senders report the end time. */
#define SLACK_NS (900 * SF_NS_PER_S)

static int profile_details_by_span(const void *a, const void *b)
{
    sf_span_id x = *(const sf_span_id *)a, y = *(const sf_span_id *)b;
    return x < y ? -1 : x > y;
}

static int profile_details_by_trace(const void *a, const void *b)
{
    return sf_trace_id_cmp(*(const sf_trace_id *)a, *(const sf_trace_id *)b);
}

/* Few rows of a granule belong to requested spans, and searching thousands of ids for each row
 * would take most of the time. So a bitmap of hashes, with sixteen bits per span, excludes most
 * rows at once. */
static bool make_bits(struct sf_profile_want *want, struct sf_arena *scratch)
{
    uint64_t n_bits = 1024;
    uint64_t *bits;
    if (want->n_spans < 8 || want->n_spans > UINT32_MAX)
        return true;
    while (n_bits < 16 * want->n_spans)
        n_bits *= 2;
    bits = sf_arena_new_n(scratch, n_bits / 64, sizeof(*bits));
    if (!bits)
        return false;
    want->span_bits = bits;
    want->bits_mask = n_bits - 1;
    for (size_t i = 0; i < want->n_spans; i++) {
        uint64_t bit = sf_hash_mix(1, want->span_ids[i]) & want->bits_mask;
        bits[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    return true;
}

static bool may_have_span(const struct sf_profile_want *want, sf_span_id id)
{
    uint64_t bit = sf_hash_mix(1, id) & want->bits_mask;
    return !want->span_bits || want->span_bits[bit / 64] >> bit % 64 & 1;
}

static bool has_span(const struct sf_profile_want *want, sf_span_id id)
{
    return id && want->n_spans && may_have_span(want, id) &&
           bsearch(&id, want->span_ids, want->n_spans, sizeof(id), profile_details_by_span) != NULL;
}

static bool has_trace(const struct sf_profile_want *want, sf_trace_id id)
{
    return want->n_traces && bsearch(&id, want->trace_ids, want->n_traces, sizeof(id),
                                     profile_details_by_trace) != NULL;
}

static bool profile_details_is_process(const struct sf_profile_read_source *s,
                                       const struct sf_profile_want *want, uint32_t process)
{
    return process != SF_NONE &&
           sf_process_hash(s->service, s->processes[process].key) == want->process;
}

static bool profile_details_is_in_time(const struct sf_profile_want *want,
                                       const struct sf_profile_detail *d)
{
    return want->select == SF_PROF_RANGE
               ? d->start_ns >= want->from_ns && d->start_ns < want->to_ns
               : d->start_ns <= want->to_ns && sf_profile_detail_end(d) >= want->from_ns;
}

static bool profile_details_is_wanted(const struct sf_profile_read_source *s,
                                      const struct sf_profile_want *want,
                                      const struct sf_profile_detail *d)
{
    bool has_ids = want->n_spans || want->n_traces;
    if (!want->is_series[d->series])
        return false;
    if (want->is_tagged && ((!d->span_id && sf_trace_id_is_zero(d->trace_id)) || d->is_lent))
        return false;
    if ((want->from_ns || want->to_ns) && !profile_details_is_in_time(want, d))
        return false;
    if (want->has_trace_rows && d->span_id == 0 && has_trace(want, d->trace_id))
        return true;
    /* If both ids are given, both must match. */
    if (want->n_spans && want->n_traces && has_span(want, d->span_id) &&
        (has_trace(want, d->trace_id) || sf_trace_id_is_zero(d->trace_id)))
        return true;
    if (has_ids && !(want->n_spans && want->n_traces) &&
        (has_span(want, d->span_id) || has_trace(want, d->trace_id)))
        return want->process == 0 || profile_details_is_process(s, want, d->process);
    if (has_ids)
        return want->has_untagged && want->process && d->span_id == 0 &&
               profile_details_is_process(s, want, d->process);
    return want->process == 0 || profile_details_is_process(s, want, d->process);
}

struct giving {
    const struct sf_profile_read_source *s;
    const struct sf_profile_want *want;
    const struct sf_profile_see *see;
};

static bool profile_details_give(const struct giving *g, const struct sf_profile_detail *d)
{
    if (!profile_details_is_wanted(g->s, g->want, d) ||
        sf_profile_read_source_hides(g->s, d->trace_id, d->start_ns))
        return true;
    return g->see->row(g->see->arg, d);
}

/* Marks the granules that may contain the ids. With span ids, trace ids only restrict the result,
 * unless rows with only a trace id are requested too. */
static enum sf_err profile_details_mark_ids(struct sf_profile_walk *w,
                                            const struct sf_profile_read_source *s,
                                            const struct sf_profile_want *want, bool *is_marked,
                                            struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (want->n_spans > 0)
        err = sf_profile_samples_mark_spans(s->reader, &s->places, want->span_ids, want->n_spans,
                                            w->scratch, is_marked, why);
    if (!err && want->n_traces > 0 && (want->n_spans == 0 || want->has_trace_rows))
        err = sf_profile_samples_mark_traces(s->reader, &s->places, want->trace_ids, want->n_traces,
                                             w->scratch, is_marked, why);
    return err;
}

static void mark_rest(const struct sf_profile_read_source *s, const struct sf_profile_want *want,
                      bool *is_marked)
{
    for (uint32_t i = 0; i < s->places.n_granules; i++) {
        const struct sf_profile_granule *g = &s->places.granules[i];
        bool is_near = (want->from_ns == 0 && want->to_ns == 0) ||
                       (g->from_ns <= want->to_ns && g->to_ns >= want->from_ns);
        bool has_process = want->process == 0;
        for (uint32_t p = g->first_process ? g->first_process : 1;
             !has_process && p <= g->last_process; p++)
            has_process = profile_details_is_process(s, want, p - 1);
        is_marked[i] = is_marked[i] || (is_near && has_process);
    }
}

static enum sf_err profile_details_too_many(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "query: more detail rows than it may hold");
}

/* Are all rows of the requested series in the answer, without further conditions? */
static bool is_all_meant(const struct sf_profile_read_source *s, const struct sf_profile_want *want,
                         const struct sf_profile_granule *g)
{
    return want->n_spans == 0 && want->n_traces == 0 && want->process == 0 && !want->is_tagged &&
           !s->tombstones &&
           ((want->from_ns == 0 && want->to_ns == 0) ||
            (g->from_ns >= want->from_ns && g->to_ns < want->to_ns));
}

static enum sf_err read_columns(const struct giving *g, uint32_t granule, struct sf_arena tmp,
                                struct sf_why *why)
{
    const struct sf_profile_read_source *s = g->s;
    struct sf_profile_columns c;
    enum sf_err err = sf_profile_samples_columns(s->reader, s->number, &s->places, granule,
                                                 g->see->is_node ? *g->see->is_node : NULL, &tmp,
                                                 &c, why);
    if (!err && !g->see->columns(g->see->arg, g->want->is_series, &c))
        err = profile_details_too_many(why);
    return err;
}

static enum sf_err read_costs(const struct giving *g, uint32_t granule, struct sf_arena tmp,
                              bool *out_is_told, struct sf_why *why)
{
    const struct sf_profile_read_source *s = g->s;
    const struct sf_profile_cost *costs;
    uint32_t n;
    enum sf_err err = sf_profile_stacks_decode_costs(s->reader, s->number, &s->places, granule,
                                                     *g->see->is_node, g->want->is_series, &tmp,
                                                     &costs, &n, out_is_told, why);
    if (!err && *out_is_told && !g->see->costs(g->see->arg, costs, n))
        err = profile_details_too_many(why);
    return err;
}

/* Reads a granule whose rows are all requested. */
static enum sf_err profile_details_read_all(const struct giving *g, uint32_t granule,
                                            struct sf_arena tmp, struct sf_why *why)
{
    bool is_told = false;
    enum sf_err err = SF_OK;
    if (g->see->costs && *g->see->is_node)
        err = read_costs(g, granule, tmp, &is_told, why);
    return err || is_told ? err : read_columns(g, granule, tmp, why);
}

static enum sf_err profile_details_read_rows(const struct giving *g, uint32_t granule,
                                             struct sf_arena tmp, struct sf_why *why)
{
    const struct sf_profile_read_source *s = g->s;
    const struct sf_profile_detail *d;
    uint32_t n;
    enum sf_err err = sf_profile_samples_granule(s->reader, s->number, &s->places, granule, &tmp,
                                                 &d, &n, why);
    for (uint32_t k = 0; !err && k < n; k++) {
        if (!profile_details_give(g, &d[k]))
            err = profile_details_too_many(why);
    }
    return err;
}

static enum sf_err profile_details_read_granules(struct sf_profile_walk *w,
                                                 struct sf_profile_read_source *s,
                                                 const struct sf_profile_want *want,
                                                 const struct giving *g, struct sf_why *why)
{
    enum sf_err err = sf_profile_read_source_places(w, s, why);
    bool *is_marked;
    if (err || s->places.n_granules == 0)
        return err;
    is_marked = sf_arena_new_n(&w->scratch, s->places.n_granules, sizeof(*is_marked));
    if (!is_marked)
        return sf_fail(why, SF_ERR_LIMIT, "query: no room for a list of granules");
    err = profile_details_mark_ids(w, s, want, is_marked, why);
    if ((want->n_spans == 0 && want->n_traces == 0) || (want->has_untagged && want->process))
        mark_rest(s, want, is_marked);
    if (err || !memchr(is_marked, 1, s->places.n_granules))
        return err;
    err = g->see->begin(g->see->arg, w, s, want->is_series, why);
    if (err == SF_ERR_NOT_FOUND)
        return SF_OK;
    for (uint32_t i = 0; !err && i < s->places.n_granules; i++) {
        if (!is_marked[i])
            continue;
        err = g->see->columns && is_all_meant(s, want, &s->places.granules[i])
                  ? profile_details_read_all(g, i, w->scratch, why)
                  : profile_details_read_rows(g, i, w->scratch, why);
        if (!err)
            err = sf_profile_read_check(w, why);
    }
    return err;
}

static enum sf_err profile_details_read_set(struct sf_profile_walk *w,
                                            struct sf_profile_read_source *s,
                                            const struct giving *g, struct sf_why *why)
{
    bool has_begun = false;
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < s->set->n_details; i++) {
        struct sf_profile_detail d = sf_profile_set_detail(s->set, i);
        if (!profile_details_is_wanted(s, g->want, &d))
            continue;
        if (!has_begun)
            err = g->see->begin(g->see->arg, w, s, g->want->is_series, why);
        if (err == SF_ERR_NOT_FOUND)
            return SF_OK;
        has_begun = true;
        if (!err && !profile_details_give(g, &d))
            err = profile_details_too_many(why);
    }
    return err;
}

enum sf_err sf_profile_details_each(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                    const struct sf_profile_want *want,
                                    const struct sf_profile_see *see, struct sf_why *why)
{
    struct giving g = {s, want, see};
    return s->set ? profile_details_read_set(w, s, &g, why)
                  : profile_details_read_granules(w, s, want, &g, why);
}

enum sf_err sf_profile_details_ask(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                   const struct sf_profile_select *select,
                                   const struct sf_detail_query *query,
                                   const struct sf_profile_see *see, struct sf_why *why)
{
    bool *is_asked = sf_arena_new_n(&w->scratch, (size_t)s->n_series + 1, sizeof(*is_asked));
    struct sf_profile_want want = {.span_ids = query->span_ids,
                                   .n_spans = query->n_spans,
                                   .trace_ids = query->trace_ids,
                                   .n_traces = query->n_traces,
                                   .process = query->process,
                                   .has_untagged = query->has_untagged,
                                   .has_trace_rows = query->has_trace_rows,
                                   .is_tagged = query->is_tagged,
                                   .from_ns = query->from_ns,
                                   .to_ns = query->to_ns,
                                   .select = query->select,
                                   .is_series = is_asked};
    if (!is_asked || !make_bits(&want, &w->scratch))
        return sf_no_room(why, "the answer");
    if (!sf_profile_select_series(select, s->series, s->n_series, !query->has_no_requests,
                                  is_asked))
        return SF_OK;
    return sf_profile_details_each(w, s, &want, see, why);
}

void sf_profile_details_range(struct sf_profile_walk *w, int64_t from_ns, int64_t to_ns)
{
    if (from_ns == 0 && to_ns == 0)
        return;
    w->from_ns = from_ns > SLACK_NS ? from_ns - SLACK_NS : 1;
    w->to_ns = sf_add_sat_i64(to_ns, SLACK_NS);
}
