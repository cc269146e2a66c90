#include "store/local/profile_query.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/num.h"
#include "model/process.h"
#include "store/local/profile_details.h"
#include "store/local/profile_tree.h"

enum { MAX_TREE_LEN = 64 << 20 };
/* Rows may lie this far outside the times of their profiles: some senders stamp the end. */
#define SLACK_NS (900 * INT64_C(1000000000))

struct merging {
    const struct sf_prof_query *query;
    struct sf_profile_select select;
    struct sf_tree_builder builder;
    sf_str unit;
    bool *is_series, *is_row; /* of the source in hand */
    struct sf_profile_tree tree;
};

static const sf_trace_id NO_TRACE = {{0}};

static enum sf_err no_room(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "query: the answer does not fit its memory");
}

/* ---- which series, which profiles ---- */

static bool is_single(const struct sf_prof_query *query, const struct sf_profile_source *s,
                      const struct sf_profile_row *row)
{
    sf_profile_id id = sf_profile_row_id(s->service, &s->series[row->series], row);
    if (query->n_profiles == 0)
        return true;
    for (size_t i = 0; i < query->n_profiles; i++) {
        if (memcmp(&query->profiles[i], &id, sizeof(id)) == 0)
            return true;
    }
    return false;
}

static bool is_row_asked(const struct sf_prof_query *query, const struct sf_profile_source *s,
                         const struct sf_profile_row *row)
{
    int64_t end_ns = sf_add_sat_i64(row->time_ns, row->duration_ns);
    bool is_in = (query->from_ns == 0 && query->to_ns == 0) ||
                 (row->time_ns <= query->to_ns && end_ns >= query->from_ns);
    return is_in && is_single(query, s, row) && !sf_profile_source_hides(s, NO_TRACE, row->time_ns);
}

/* ---- a tree from the aggregate ---- */

static void add(struct merging *m, uint32_t node, int64_t value)
{
    sf_tree_builder_add(&m->builder, sf_profile_tree_node(&m->tree, node), value, 0);
}

/* All rows of the chunk, some, or none? */
static unsigned count_rows(const struct merging *m, const struct sf_profile_chunk *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_rows; i++)
        n += m->is_row[c->first_row + i];
    return n == 0 ? 0 : n == c->n_rows ? 2 : 1;
}

static bool has_rollup(const struct sf_profile_places *p, uint32_t chunk)
{
    return chunk + 1 < p->n_chunks && p->chunks[chunk + 1].is_rollup &&
           p->chunks[chunk + 1].first_row == p->chunks[chunk].first_row;
}

static enum sf_err merge_block(struct merging *m, struct sf_profile_walk *w,
                               struct sf_profile_source *s, struct sf_why *why)
{
    enum sf_err err = sf_profile_source_places(w, s, why);
    struct sf_profile_held held = {0};
    for (uint32_t i = 0; !err && i < s->places.n_chunks; i++) {
        const struct sf_profile_chunk *c = &s->places.chunks[i];
        unsigned rows = m->is_series[c->series] && !c->is_rollup ? count_rows(m, c) : 0;
        struct sf_arena tmp;
        const struct sf_profile_entry *e;
        size_t n = 0;
        if (rows == 0)
            continue;
        if (rows == 2 && has_rollup(&s->places, i))
            c++;
        err = sf_profile_block_hold(s->reader, c->section, &held, &w->scratch, why);
        tmp = w->scratch;
        if (!err)
            err = sf_profile_block_chunk(s->reader, s->number, c, &held, &tmp, &e, &n, why);
        for (size_t k = 0; !err && k < n; k++) {
            if (rows == 2 || m->is_row[e[k].row])
                add(m, e[k].node, e[k].value);
        }
        if (!err)
            err = sf_profile_walk_check(w, why);
    }
    return err;
}

static void merge_set(struct merging *m, const struct sf_profile_set *set)
{
    for (uint32_t i = 0; i < set->n_entries; i++) {
        if (m->is_row[set->entries[i].row])
            add(m, set->entries[i].node, set->entries[i].value);
    }
}

static enum sf_err merge_aggregate(struct merging *m, struct sf_profile_walk *w,
                                   struct sf_profile_source *s, struct sf_why *why)
{
    enum sf_err err = sf_profile_source_rows(w, s, why);
    uint64_t n_samples = 0;
    bool has_any = false;
    if (err)
        return err;
    m->is_row = sf_arena_new_n(&w->scratch, (size_t)s->n_rows + 1, sizeof(*m->is_row));
    if (!m->is_row)
        return no_room(why);
    for (uint32_t i = 0; i < s->n_rows; i++) {
        m->is_row[i] = m->is_series[s->rows[i].series] && is_row_asked(m->query, s, &s->rows[i]);
        has_any = has_any || m->is_row[i];
        n_samples += m->is_row[i] ? s->rows[i].n_samples : 0;
    }
    if (!has_any)
        return SF_OK;
    err = sf_profile_source_symbols(w, s, why);
    if (err)
        return err;
    if (!sf_profile_tree_init(&m->tree, &m->builder, &s->symbols, &w->scratch))
        return no_room(why);
    sf_tree_builder_add(&m->builder, 0, 0, n_samples);
    if (!s->set)
        return merge_block(m, w, s, why);
    merge_set(m, s->set);
    return SF_OK;
}

/* ---- a tree from details ---- */

static enum sf_err begin_details(void *arg, struct sf_profile_walk *w, struct sf_profile_source *s,
                                 struct sf_why *why)
{
    struct merging *m = arg;
    enum sf_err err = sf_profile_source_symbols(w, s, why);
    if (!err && !sf_profile_tree_init(&m->tree, &m->builder, &s->symbols, &w->scratch))
        err = no_room(why);
    return err;
}

static bool see_detail(void *arg, const struct sf_profile_detail *d)
{
    struct merging *m = arg;
    sf_tree_builder_add(&m->builder, sf_profile_tree_node(&m->tree, d->node), d->value, 1);
    return true;
}

static enum sf_err merge_details(struct merging *m, struct sf_profile_walk *w,
                                 struct sf_profile_source *s, struct sf_why *why)
{
    struct sf_profile_want want = {.span_ids = m->query->span_ids,
                                   .n_spans = m->query->n_spans,
                                   .trace_ids = m->query->trace_ids,
                                   .n_traces = m->query->n_traces,
                                   .from_ns = m->query->from_ns,
                                   .to_ns = m->query->to_ns,
                                   .is_series = m->is_series};
    struct sf_profile_see see = {begin_details, see_detail, m};
    return sf_profile_details_each(w, s, &want, &see, why);
}

static enum sf_err see_merge(void *arg, struct sf_profile_walk *w, struct sf_profile_source *s,
                             struct sf_why *why)
{
    struct merging *m = arg;
    bool has_ids = m->query->n_spans || m->query->n_traces;
    m->is_series = sf_arena_new_n(&w->scratch, (size_t)s->n_series + 1, sizeof(*m->is_series));
    if (!m->is_series)
        return no_room(why);
    if (!sf_profile_select_series(&m->select, s->series, s->n_series,
                                  has_ids || m->query->n_profiles, m->is_series))
        return SF_OK;
    for (uint32_t i = 0; m->unit.len == 0 && i < s->n_series; i++) {
        if (m->is_series[i] && !sf_arena_copy(w->q->req, s->series[i].type.sample_unit, &m->unit))
            return no_room(why);
    }
    return has_ids ? merge_details(m, w, s, why) : merge_aggregate(m, w, s, why);
}

enum sf_err sf_local_prof_merge(struct sf_store *store, const struct sf_prof_query *query,
                                struct sf_query_ctx *q, const struct sf_tree **out,
                                struct sf_why *why)
{
    struct merging m = {.query = query};
    struct sf_profile_walk w = {.l = (struct sf_local *)store,
                                .q = q,
                                .select = &m.select,
                                .from_ns = query->from_ns,
                                .to_ns = query->to_ns};
    struct sf_tree *tree = sf_arena_new(q->req, sizeof(*tree));
    enum sf_err err = tree ? sf_profile_select_init(&m.select, query->type, query->match,
                                                    query->n_match, why)
                           : no_room(why);
    if (err)
        return err;
    sf_tree_builder_init(&m.builder, q->req, MAX_TREE_LEN, SF_TREE_COPIES);
    err = sf_profile_walk_run(&w, see_merge, &m, why);
    if (!err)
        err = sf_tree_builder_take(&m.builder, m.unit, tree, why);
    sf_tree_builder_done(&m.builder);
    sf_profile_select_done(&m.select);
    if (!err)
        *out = tree;
    return err;
}

/* ---- series ---- */

struct listing {
    const struct sf_prof_query *query;
    struct sf_profile_select select;
    struct sf_series *list;
    uint32_t n, cap;
};

static int by_series(const void *a, const void *b)
{
    const struct sf_series *x = a, *y = b;
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

static bool copy_series(struct sf_arena *req, sf_str service, const struct sf_profile_series *from,
                        struct sf_series *to)
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

static uint32_t settle(struct sf_series *list, uint32_t n)
{
    uint32_t n_out = 0;
    if (n)
        qsort(list, n, sizeof(*list), by_series);
    for (uint32_t i = 0; i < n; i++) {
        if (n_out && by_series(&list[n_out - 1], &list[i]) == 0) {
            struct sf_series *kept = &list[n_out - 1];
            kept->is_request = kept->is_request && list[i].is_request;
            kept->period = kept->period > 0 ? kept->period : list[i].period;
        } else {
            list[n_out++] = list[i];
        }
    }
    return n_out;
}

static enum sf_err see_list(void *arg, struct sf_profile_walk *w, struct sf_profile_source *s,
                            struct sf_why *why)
{
    struct listing *l = arg;
    bool *is_seen = sf_arena_new_n(&w->scratch, (size_t)s->n_series + 1, sizeof(*is_seen));
    enum sf_err err = is_seen ? sf_profile_source_rows(w, s, why) : no_room(why);
    for (uint32_t i = 0; !err && i < s->n_rows; i++) {
        uint32_t place = s->rows[i].series;
        if (is_seen[place] || !is_row_asked(l->query, s, &s->rows[i]))
            continue;
        is_seen[place] = true;
        if (!sf_profile_select_is(&l->select, &s->series[place]))
            continue;
        if (l->n == l->cap) {
            l->n = settle(l->list, l->n); /* most are in several blocks */
            if (l->n > l->cap / 2 || l->cap == 0) {
                uint32_t cap = l->cap ? l->cap * 2 : 256;
                struct sf_series *more = sf_heap_grow(l->list, cap, sizeof(*more));
                if (!more)
                    return sf_fail(why, SF_ERR_NOMEM, "query: no memory for series");
                l->list = more;
                l->cap = cap;
            }
        }
        l->list[l->n] = (struct sf_series){0};
        if (!copy_series(w->q->req, s->service, &s->series[place], &l->list[l->n]))
            return no_room(why);
        l->list[l->n++].period = s->rows[i].period;
    }
    return err;
}

enum sf_err sf_local_prof_list(struct sf_store *store, const struct sf_prof_query *query,
                               struct sf_query_ctx *q, struct sf_prof_list *out, struct sf_why *why)
{
    struct listing l = {.query = query};
    struct sf_profile_walk w = {.l = (struct sf_local *)store,
                                .q = q,
                                .select = &l.select,
                                .from_ns = query->from_ns,
                                .to_ns = query->to_ns};
    struct sf_series *list = NULL;
    enum sf_err err = sf_profile_select_init(&l.select, query->type, query->match, query->n_match,
                                             why);
    if (err)
        return err;
    err = sf_profile_walk_run(&w, see_list, &l, why);
    if (!err) {
        l.n = settle(l.list, l.n);
        list = sf_arena_new_n(q->req, (size_t)l.n + 1, sizeof(*list));
        err = list ? SF_OK : no_room(why);
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

/* ---- spans ---- */

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
    return sf_arena_copy(w->q->req, service, &f->list[f->n++].service) ? SF_OK : no_room(why);
}

static enum sf_err see_spans(void *arg, struct sf_profile_walk *w, struct sf_profile_source *s,
                             struct sf_why *why)
{
    struct finding *f = arg;
    sf_span_id *ids = sf_arena_new_n(&w->scratch, f->cap + 1, sizeof(*ids));
    enum sf_err err = SF_OK;
    size_t n = 0;
    if (!ids)
        return no_room(why);
    for (uint32_t i = 0; !err && s->set && i < s->set->n_details; i++) {
        sf_span_id id = s->set->details[i].span_id;
        if (id && id >= f->low && id <= f->high)
            err = note_span(f, w, s->service, id, why);
    }
    if (s->set)
        return err;
    err = sf_profile_source_places(w, s, why);
    if (!err)
        err = sf_profile_block_spans_between(s->reader, &s->places, f->low, f->high, w->scratch,
                                             ids, f->cap, &n, why);
    for (size_t i = 0; !err && i < n; i++)
        err = note_span(f, w, s->service, ids[i], why);
    return err;
}

enum sf_err sf_local_prof_spans(struct sf_store *store, sf_span_id low, sf_span_id high, size_t cap,
                                struct sf_query_ctx *q, const struct sf_prof_span **out,
                                size_t *out_n, struct sf_why *why)
{
    struct finding f = {.low = low, .high = high, .cap = cap};
    struct sf_profile_walk w = {.l = (struct sf_local *)store, .q = q};
    enum sf_err err;
    f.list = sf_arena_new_n(q->req, cap + 1, sizeof(*f.list));
    err = f.list ? sf_profile_walk_run(&w, see_spans, &f, why) : no_room(why);
    if (!err) {
        *out = f.list;
        *out_n = f.n;
    }
    return err;
}

/* ---- detail rows ---- */

struct detailing {
    const struct sf_detail_query *query;
    struct sf_profile_select select;
    struct sf_tree_builder builder;
    struct sf_profile_tree tree;
    const struct sf_profile_source *s;
    const bool *is_asked; /* of its series */
    struct sf_arena *req;
    struct sf_series *series;
    uint32_t n_series, cap_series, first_series;
    uint32_t *series_map;
    struct sf_profile_detail *rows;
    uint64_t *processes;
    uint32_t n, cap;
};

static bool see_row(void *arg, const struct sf_profile_detail *d)
{
    struct detailing *x = arg;
    if (x->n == x->cap) {
        uint32_t cap = x->cap ? x->cap * 2 : 1024;
        struct sf_profile_detail *rows = sf_heap_grow(x->rows, cap, sizeof(*rows));
        uint64_t *processes;
        x->rows = rows ? rows : x->rows;
        processes = rows ? sf_heap_grow(x->processes, cap, sizeof(*processes)) : NULL;
        x->processes = processes ? processes : x->processes;
        if (!processes || cap > 1u << 22)
            return false;
        x->cap = cap;
    }
    x->processes[x->n] = d->process == SF_NONE
                             ? 0
                             : sf_process_hash(x->s->service, x->s->processes[d->process].key);
    x->rows[x->n] = *d;
    x->rows[x->n].series = x->series_map[d->series];
    x->rows[x->n].node = sf_profile_tree_node(&x->tree, d->node);
    sf_tree_builder_add(&x->builder, x->rows[x->n].node, d->value, 1);
    x->n++;
    return true;
}

static bool map_series(struct detailing *x, const struct sf_profile_source *s, const bool *is_asked,
                       struct sf_arena *scratch)
{
    x->series_map = sf_arena_new_n(scratch, (size_t)s->n_series + 1, sizeof(uint32_t));
    if (!x->series_map)
        return false;
    for (uint32_t i = 0; i < s->n_series; i++) {
        struct sf_series one = {0};
        uint32_t at = 0;
        if (!is_asked[i])
            continue;
        one.service = s->service;
        one.type = s->series[i].type;
        one.labels = s->series[i].labels;
        one.n_labels = s->series[i].n_labels;
        while (at < x->n_series && by_series(&x->series[at], &one) != 0)
            at++;
        x->series_map[i] = at;
        if (at < x->n_series)
            continue;
        if (x->n_series == x->cap_series) {
            uint32_t cap = x->cap_series ? x->cap_series * 2 : 64;
            struct sf_series *more = sf_heap_grow(x->series, cap, sizeof(*more));
            if (!more)
                return false;
            x->series = more;
            x->cap_series = cap;
        }
        x->series[at] = (struct sf_series){0};
        if (!copy_series(x->req, s->service, &s->series[i], &x->series[at]))
            return false;
        x->n_series++;
    }
    return true;
}

static enum sf_err begin_rows(void *arg, struct sf_profile_walk *w, struct sf_profile_source *s,
                              struct sf_why *why)
{
    struct detailing *x = arg;
    enum sf_err err = sf_profile_source_symbols(w, s, why);
    x->s = s;
    if (!err && (!sf_profile_tree_init(&x->tree, &x->builder, &s->symbols, &w->scratch) ||
                 !map_series(x, s, x->is_asked, &w->scratch)))
        err = no_room(why);
    return err;
}

static enum sf_err see_details(void *arg, struct sf_profile_walk *w, struct sf_profile_source *s,
                               struct sf_why *why)
{
    struct detailing *x = arg;
    bool *is_asked = sf_arena_new_n(&w->scratch, (size_t)s->n_series + 1, sizeof(*is_asked));
    struct sf_profile_want want = {.span_ids = x->query->span_ids,
                                   .n_spans = x->query->n_spans,
                                   .trace_ids = x->query->trace_ids,
                                   .n_traces = x->query->n_traces,
                                   .process = x->query->process,
                                   .has_untagged = x->query->has_untagged,
                                   .has_trace_rows = x->query->has_trace_rows,
                                   .from_ns = x->query->from_ns,
                                   .to_ns = x->query->to_ns,
                                   .is_series = is_asked};
    struct sf_profile_see see = {begin_rows, see_row, x};
    if (!is_asked)
        return no_room(why);
    if (!sf_profile_select_series(&x->select, s->series, s->n_series, true, is_asked))
        return SF_OK;
    x->is_asked = is_asked;
    return sf_profile_details_each(w, s, &want, &see, why);
}

static bool take_rows(const struct detailing *x, struct sf_arena *req, struct sf_detail_rows *out)
{
    size_t n = (size_t)x->n + 1;
    uint64_t *process = sf_arena_new_n(req, n, 8), *thread = sf_arena_new_n(req, n, 8);
    int64_t *start = sf_arena_new_n(req, n, 8), *length = sf_arena_new_n(req, n, 8);
    int64_t *value = sf_arena_new_n(req, n, 8);
    uint8_t *state = sf_arena_new_n(req, n, 1);
    bool *has_time = sf_arena_new_n(req, n, sizeof(*has_time));
    uint32_t *series = sf_arena_new_n(req, n, 4), *node = sf_arena_new_n(req, n, 4);
    sf_span_id *span = sf_arena_new_n(req, n, sizeof(*span));
    sf_trace_id *trace = sf_arena_new_n(req, n, sizeof(*trace));
    if (!process || !thread || !start || !length || !value || !state || !has_time || !series ||
        !node || !span || !trace)
        return false;
    for (uint32_t i = 0; i < x->n; i++) {
        const struct sf_profile_detail *d = &x->rows[i];
        process[i] = x->processes[i];
        thread[i] = d->thread;
        start[i] = d->start_ns;
        length[i] = d->length_ns;
        value[i] = d->value;
        state[i] = d->state;
        has_time[i] = d->has_time;
        series[i] = d->series;
        node[i] = d->node;
        span[i] = d->span_id;
        trace[i] = d->trace_id;
    }
    *out = (struct sf_detail_rows){x->n,   process, thread, start, length, state,
                                   series, node,    value,  span,  trace,  has_time};
    return true;
}

enum sf_err sf_local_detail_list(struct sf_store *store, const struct sf_detail_query *query,
                                 struct sf_query_ctx *q, struct sf_detail_list *out,
                                 struct sf_why *why)
{
    struct detailing x = {.query = query, .req = q->req};
    struct sf_profile_walk w = {.l = (struct sf_local *)store, .q = q, .select = &x.select};
    struct sf_detail_list list = {0};
    struct sf_series *series;
    enum sf_err err = sf_profile_select_init(&x.select, query->type, query->match, query->n_match,
                                             why);
    if (err)
        return err;
    if (query->from_ns || query->to_ns) {
        w.from_ns = query->from_ns > SLACK_NS ? query->from_ns - SLACK_NS : 1;
        w.to_ns = sf_add_sat_i64(query->to_ns, SLACK_NS);
    }
    sf_tree_builder_init(&x.builder, q->req, MAX_TREE_LEN, SF_TREE_COPIES);
    err = sf_profile_walk_run(&w, see_details, &x, why);
    if (!err)
        err = sf_tree_builder_take(&x.builder, SF_STR_NONE, &list.tree, why);
    if (!err) {
        series = sf_arena_new_n(q->req, (size_t)x.n_series + 1, sizeof(*series));
        if (!series || !take_rows(&x, q->req, &list.rows))
            err = no_room(why);
        else if (x.n_series)
            memcpy(series, x.series, x.n_series * sizeof(*series));
        list.series = series;
        list.n_series = x.n_series;
    }
    if (!err)
        *out = list;
    sf_tree_builder_done(&x.builder);
    sf_profile_select_done(&x.select);
    sf_heap_free(x.rows);
    sf_heap_free(x.processes);
    sf_heap_free(x.series);
    return err;
}
