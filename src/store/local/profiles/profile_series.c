#include "store/local/profiles/profile_series.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "store/local/profiles/profile_query.h"
#include "store/local/profiles/profile_read.h"

struct listing {
    const struct sf_prof_query *query;
    struct sf_profile_select select;
    struct sf_series *list;
    uint32_t n, cap;
};

int sf_profile_series_cmp(const struct sf_series *x, const struct sf_series *y)
{
    const sf_str px[] = {x->service,          x->type.name,        x->type.sample_type,
                         x->type.sample_unit, x->type.period_type, x->type.period_unit};
    const sf_str py[] = {y->service,          y->type.name,        y->type.sample_type,
                         y->type.sample_unit, y->type.period_type, y->type.period_unit};
    for (size_t i = 0; i < 6; i++) {
        int order = sf_str_cmp(px[i], py[i]);
        if (order)
            return order;
    }
    for (uint32_t i = 0; i < x->n_labels && i < y->n_labels; i++) {
        int order = sf_str_cmp(x->labels[i].key, y->labels[i].key);
        if (!order)
            order = sf_str_cmp(x->labels[i].val, y->labels[i].val);
        if (order)
            return order;
    }
    return x->n_labels < y->n_labels ? -1 : x->n_labels > y->n_labels;
}

bool sf_profile_series_copy(struct sf_arena *req, sf_str service,
                            const struct sf_profile_series *from, struct sf_series *to)
{
    struct sf_label *labels = sf_arena_new_n(req, (size_t)from->n_labels + 1, sizeof(*labels));
    bool is_ok = labels && sf_arena_copy(req, service, &to->service) &&
                 sf_arena_copy(req, from->type.name, &to->type.name) &&
                 sf_arena_copy(req, from->type.sample_type, &to->type.sample_type) &&
                 sf_arena_copy(req, from->type.sample_unit, &to->type.sample_unit) &&
                 sf_arena_copy(req, from->type.period_type, &to->type.period_type) &&
                 sf_arena_copy(req, from->type.period_unit, &to->type.period_unit);
    for (uint32_t i = 0; is_ok && i < from->n_labels; i++)
        is_ok = sf_arena_copy(req, from->labels[i].key, &labels[i].key) &&
                sf_arena_copy(req, from->labels[i].val, &labels[i].val);
    to->labels = labels;
    to->n_labels = from->n_labels;
    to->process = SF_NONE;
    to->is_request = from->flags & SF_PROFILE_REQUEST;
    to->is_diff = from->flags & SF_PROFILE_DIFF;
    return is_ok;
}

static int profile_series_by_series(const void *a, const void *b)
{
    return sf_profile_series_cmp(a, b);
}

static uint32_t profile_series_settle(struct sf_series *list, uint32_t n)
{
    uint32_t n_out = 0;
    if (n)
        qsort(list, n, sizeof(*list), profile_series_by_series);
    for (uint32_t i = 0; i < n; i++) {
        if (n_out && sf_profile_series_cmp(&list[n_out - 1], &list[i]) == 0) {
            struct sf_series *kept = &list[n_out - 1];
            kept->is_request = kept->is_request && list[i].is_request;
            kept->period = kept->period > 0 ? kept->period : list[i].period;
        } else {
            list[n_out++] = list[i];
        }
    }
    return n_out;
}

static enum sf_err see_list(void *arg, struct sf_profile_walk *w, struct sf_profile_read_source *s,
                            struct sf_why *why)
{
    struct listing *l = arg;
    bool *is_seen = sf_arena_new_n(&w->scratch, (size_t)s->n_series + 1, sizeof(*is_seen));
    enum sf_err err = is_seen ? sf_profile_read_source_rows(w, s, why)
                              : sf_no_room(why, "the answer");
    for (uint32_t i = 0; !err && i < s->n_rows; i++) {
        uint32_t place = s->rows[i].series;
        if (is_seen[place] || !sf_profile_read_source_is_asked(l->query, w->q, s, i))
            continue;
        is_seen[place] = true;
        if (!sf_profile_select_is(&l->select, &s->series[place]))
            continue;
        if (l->n == l->cap) {
            /* Merge duplicates: most series are in several blocks. */
            l->n = profile_series_settle(l->list, l->n);
            if ((l->n > l->cap / 2 || l->cap == 0) && !sf_list_room(&l->list, l->cap, &l->cap, 256))
                return sf_fail(why, SF_ERR_NOMEM, "query: no memory for series");
        }
        l->list[l->n] = (struct sf_series){0};
        if (!sf_profile_series_copy(w->q->req, s->service, &s->series[place], &l->list[l->n]))
            return sf_no_room(why, "the answer");
        l->list[l->n++].period = s->rows[i].period;
    }
    return err;
}

enum sf_err sf_profile_series_list(struct sf_store *store, const struct sf_prof_query *query,
                                   struct sf_query_ctx *q, struct sf_prof_list *out,
                                   struct sf_why *why)
{
    struct listing l = {.query = query};
    struct sf_profile_walk w = {.l = (struct sf_local *)store, .q = q, .select = &l.select};
    struct sf_series *list = NULL;
    enum sf_err err = sf_profile_select_init(&l.select, query->type, query->match, query->n_match,
                                             why);
    if (err)
        return err;
    sf_profile_read_range(&w, query);
    err = sf_profile_read_run(&w, see_list, &l, why);
    if (!err) {
        l.n = profile_series_settle(l.list, l.n);
        list = sf_arena_new_n(q->req, (size_t)l.n + 1, sizeof(*list));
        err = list ? SF_OK : sf_no_room(why, "the answer");
    }
    if (!err) {
        if (l.n)
            memcpy(list, l.list, l.n * sizeof(*list));
        *out = (struct sf_prof_list){list, l.n};
    }
    sf_heap_free(l.list);
    sf_profile_select_done(&l.select);
    return err;
}
