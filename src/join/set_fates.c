#include "join/set_fates.h"

#include "base/num.h"

static int64_t set_fates_time_of(uint64_t ns)
{
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

enum sf_err sf_set_fates_apply(struct sf_store *store, struct sf_span_set *set,
                               struct sf_query_ctx *q, struct sf_set_fates *out, struct sf_why *why)
{
    struct sf_arena as_it_was = *q->req;
    struct sf_keep_ask *asks = sf_arena_new_n(q->req, set->n + 1u, sizeof(*asks));
    struct sf_keep_state *states = sf_arena_new_n(q->req, set->n + 1u, sizeof(*states));
    uint32_t n = 0;
    enum sf_err err;
    *out = (struct sf_set_fates){0};
    if (!store->ops->keep_states)
        return SF_OK;
    if (!asks || !states)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < set->n; i++) {
        const struct sf_set_span *s = &set->spans[i];
        asks[i] = (struct sf_keep_ask){
            .trace = s->trace,
            .start_ns = set_fates_time_of(s->start_ns),
            .end_ns = set_fates_time_of(sf_add_sat_u64(s->start_ns, s->duration_ns))};
    }
    err = store->ops->keep_states(store, asks, set->n, q, states, why);
    for (uint32_t i = 0; !err && i < set->n; i++) {
        struct sf_set_span s = set->spans[i];
        double chance = sf_keep_chance(&states[i]);
        if (states[i].fate == SF_FATE_THINNED) {
            out->n_thinned++;
            continue;
        }
        s.weight = chance > 0 && chance < 1 ? 1 / chance : 0;
        out->n_weighted += s.weight > 0;
        out->most = s.weight > out->most ? s.weight : out->most;
        set->spans[n++] = s;
    }
    if (!err)
        set->n = n;
    *q->req = as_it_was;
    return err;
}

bool sf_set_fates_note(const struct sf_set_fates *f, sf_str of, struct sf_arena *req, sf_str *note)
{
    if (f->n_thinned == 0)
        return true;
    if (f->n_weighted == 0)
        return sf_arena_print(
            req, note,
            "%.*s%s%.*sthe samples of %llu spans were thinned, and no baseline is "
            "left to represent them: only requests kept by a rule are counted",
            SF_STR_ARG(*note), note->len ? "; " : "", SF_STR_ARG(of),
            (unsigned long long)f->n_thinned);
    return sf_arena_print(req, note,
                          "%.*s%s%.*sthe samples of %llu spans were thinned; %llu spans of the "
                          "baseline represent them, with weights up to %.0f",
                          SF_STR_ARG(*note), note->len ? "; " : "", SF_STR_ARG(of),
                          (unsigned long long)f->n_thinned, (unsigned long long)f->n_weighted,
                          f->most);
}
