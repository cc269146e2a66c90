#include "join/coverage_thinned.h"

#include "base/num.h"
#include "join/thinned.h"

static int64_t coverage_thinned_time_of(uint64_t ns)
{
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static bool coverage_thinned_is_thinned(const struct sf_keep_state *s)
{
    return s->fate == SF_FATE_THINNED && s->has_tags;
}

static enum sf_err coverage_thinned_say(const struct sf_keep_state *last, uint32_t n_all,
                                        struct sf_arena *req, struct sf_coverage *out,
                                        struct sf_why *why)
{
    return sf_arena_print(req, &out->thinned,
                          "thinned: the samples of %llu of %u spans checked were removed after "
                          "their hour (rule set %u): no rule kept their requests, and they are not "
                          "in the baseline of %g %%. The totals of the service have them",
                          (unsigned long long)out->n_thinned, n_all, last->version,
                          last->baseline_per_10000 / 100.0)
               ? SF_OK
               : sf_no_room(why, "the query");
}

enum sf_err sf_coverage_thinned_find(struct sf_store *store, sf_str service,
                                     struct sf_span_set *set, struct sf_query_ctx *q,
                                     struct sf_coverage *out, struct sf_why *why)
{
    struct sf_keep_ask *asks = sf_arena_new_n(q->req, set->n + 1u, sizeof(*asks));
    struct sf_keep_state *states = sf_arena_new_n(q->req, set->n + 1u, sizeof(*states));
    uint32_t n = 0, n_all = set->n, last = 0;
    enum sf_err err;
    if (!store->ops->keep_states || set->n == 0)
        return SF_OK;
    if (!asks || !states)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < set->n; i++) {
        const struct sf_set_span *s = &set->spans[i];
        asks[i] = (struct sf_keep_ask){
            .trace = s->trace,
            .start_ns = coverage_thinned_time_of(s->start_ns),
            .end_ns = coverage_thinned_time_of(sf_add_sat_u64(s->start_ns, s->duration_ns)),
            .service = service};
    }
    err = store->ops->keep_states(store, asks, set->n, q, states, why);
    for (uint32_t i = 0; !err && i < n_all; i++) {
        if (coverage_thinned_is_thinned(&states[i])) {
            out->n_thinned++;
            last = i;
        } else {
            set->spans[n++] = set->spans[i];
        }
    }
    if (err || out->n_thinned == 0)
        return err;
    set->n = n;
    return coverage_thinned_say(&states[last], n_all, q->req, out, why);
}

bool sf_coverage_thinned_one(const struct sf_keep_state *s, struct sf_arena *req,
                             struct sf_coverage *out)
{
    out->n_thinned = coverage_thinned_is_thinned(s);
    return out->n_thinned == 0 || sf_thinned_say(s, req, &out->thinned);
}
