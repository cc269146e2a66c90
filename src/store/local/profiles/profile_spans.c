/* profile_spans.c - which spans have samples. */
#include "store/local/profiles/profile_query.h"
#include "store/local/profiles/profile_read.h"

struct finding {
    sf_span_id low, high;
    struct sf_prof_span *list;
    size_t n, cap;
};

static enum sf_err note_span(struct finding *f, struct sf_profile_walk *w, sf_str service,
                             sf_span_id id, struct sf_why *why)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->list[i].id == id && sf_str_eq(f->list[i].service, service))
            return SF_OK;
    }
    if (f->n == f->cap)
        return SF_OK;
    f->list[f->n].id = id;
    return sf_arena_copy(w->q->req, service, &f->list[f->n++].service)
               ? SF_OK
               : sf_no_room(why, "the answer");
}

static enum sf_err profile_spans_see_spans(void *arg, struct sf_profile_walk *w,
                                           struct sf_profile_read_source *s, struct sf_why *why)
{
    struct finding *f = arg;
    sf_span_id *ids = sf_arena_new_n(&w->scratch, f->cap + 1, sizeof(*ids));
    enum sf_err err = SF_OK;
    size_t n = 0;
    if (!ids)
        return sf_no_room(why, "the answer");
    for (uint32_t i = 0; !err && s->set && i < s->set->n_details; i++) {
        sf_span_id id = s->set->ids[s->set->details[i].ids].span_id;
        if (id && id >= f->low && id <= f->high)
            err = note_span(f, w, s->service, id, why);
    }
    if (s->set)
        return err;
    err = sf_profile_read_source_places(w, s, why);
    if (!err)
        err = sf_profile_samples_spans_between(s->reader, &s->places, f->low, f->high, w->scratch,
                                               ids, f->cap, &n, why);
    for (size_t i = 0; !err && i < n; i++)
        err = note_span(f, w, s->service, ids[i], why);
    return err;
}

enum sf_err sf_profile_spans_read(struct sf_store *store, sf_span_id low, sf_span_id high,
                                  size_t cap, struct sf_query_ctx *q,
                                  const struct sf_prof_span **out, size_t *out_n,
                                  struct sf_why *why)
{
    struct finding f = {.low = low, .high = high, .cap = cap};
    struct sf_profile_walk w = {.l = (struct sf_local *)store, .q = q};
    enum sf_err err;
    f.list = sf_arena_new_n(q->req, cap + 1, sizeof(*f.list));
    err = f.list ? sf_profile_read_run(&w, profile_spans_see_spans, &f, why)
                 : sf_no_room(why, "the answer");
    if (!err) {
        *out = f.list;
        *out_n = f.n;
    }
    return err;
}
