/* profile_rows.c - single samples, with all their fields. */
#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "model/process.h"
#include "store/local/profiles/profile_details.h"
#include "store/local/profiles/profile_names.h"
#include "store/local/profiles/profile_query.h"
#include "store/local/profiles/profile_series.h"
#include "store/local/profiles/profile_tree.h"

enum { MAX_TREE_LEN = 64 << 20 };

struct detailing {
    const struct sf_detail_query *query;
    struct sf_profile_select select;
    struct sf_tree_builder builder;
    struct sf_profile_tree tree;
    const struct sf_profile_read_source *s;
    struct sf_arena *req;
    struct sf_series *series;
    uint32_t n_series, cap_series, first_series;
    uint32_t *series_map;
    struct sf_profile_detail *rows;
    uint64_t *processes;
    uint32_t n, cap;
    bool *has_rows; /* by process of the current source; the last entry: without a process */
    struct sf_detail_thread *threads;
    uint32_t n_threads, cap_threads;
};

enum { MAX_ROWS = 1 << 22 };

static bool profile_rows_see_row(void *arg, const struct sf_profile_detail *d)
{
    struct detailing *x = arg;
    uint32_t cap = x->cap;
    if (!sf_list_room_max(&x->rows, x->n, &cap, 1024, MAX_ROWS) ||
        !sf_list_room_max(&x->processes, x->n, &x->cap, 1024, MAX_ROWS))
        return false;
    x->processes[x->n] = d->process == SF_NONE
                             ? 0
                             : sf_process_hash(x->s->service, x->s->processes[d->process].key);
    if (x->has_rows)
        x->has_rows[d->process == SF_NONE ? x->s->n_processes : d->process] = true;
    x->rows[x->n] = *d;
    x->rows[x->n].series = x->series_map[d->series];
    x->rows[x->n].node = sf_profile_tree_node(&x->tree, d->node);
    sf_tree_builder_add(&x->builder, x->rows[x->n].node, d->value, 1);
    x->n++;
    return true;
}

static bool map_series(struct detailing *x, const struct sf_profile_read_source *s,
                       const bool *is_asked, struct sf_arena *scratch)
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
        while (at < x->n_series && sf_profile_series_cmp(&x->series[at], &one) != 0)
            at++;
        x->series_map[i] = at;
        if (at < x->n_series)
            continue;
        if (!sf_list_room(&x->series, x->n_series, &x->cap_series, 64))
            return false;
        x->series[at] = (struct sf_series){0};
        if (!sf_profile_series_copy(x->req, s->service, &s->series[i], &x->series[at]))
            return false;
        x->n_series++;
    }
    return true;
}

static enum sf_err begin_rows(void *arg, struct sf_profile_walk *w,
                              struct sf_profile_read_source *s, const bool *is_series,
                              struct sf_why *why)
{
    struct detailing *x = arg;
    enum sf_err err = sf_profile_read_source_symbols(w, s, why);
    x->s = s;
    x->has_rows = sf_arena_new_n(&w->scratch, (size_t)s->n_processes + 1, sizeof(*x->has_rows));
    if (!err &&
        (!x->has_rows || !sf_profile_tree_init(&x->tree, &x->builder, &s->symbols, &w->scratch) ||
         !map_series(x, s, is_series, &w->scratch)))
        err = sf_no_room(why, "the answer");
    return err;
}

/* ---- threads ---- */

static bool profile_rows_add_thread(struct detailing *x, const struct sf_profile_thread *from)
{
    uint64_t process = from->process == SF_NONE
                           ? 0
                           : sf_process_hash(x->s->service, x->s->processes[from->process].key);
    struct sf_detail_thread *to;
    if (!sf_list_room(&x->threads, x->n_threads, &x->cap_threads, 64))
        return false;
    to = &x->threads[x->n_threads];
    *to = (struct sf_detail_thread){process, from->t};
    if (!sf_arena_copy(x->req, from->t.name, &to->t.name))
        return false;
    x->n_threads++;
    return true;
}

static enum sf_err add_threads(struct detailing *x, struct sf_profile_walk *w,
                               struct sf_profile_read_source *s, struct sf_why *why)
{
    enum sf_err err = sf_profile_read_source_threads(w, s, why);
    for (uint32_t i = 0; !err && i < s->n_threads; i++) {
        uint32_t process = s->threads[i].process;
        if (x->has_rows[process == SF_NONE ? s->n_processes : process] &&
            !profile_rows_add_thread(x, &s->threads[i]))
            err = sf_no_room(why, "the answer");
    }
    return err;
}

static int profile_rows_by_thread(const void *a, const void *b)
{
    const struct sf_detail_thread *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->t.thread < y->t.thread ? -1 : x->t.thread > y->t.thread;
}

/* Merges what several sources store about each thread. */
static bool take_threads(struct detailing *x, struct sf_arena *req, struct sf_detail_list *list)
{
    uint32_t n = 0;
    if (x->n_threads)
        qsort(x->threads, x->n_threads, sizeof(*x->threads), profile_rows_by_thread);
    for (uint32_t i = 0; i < x->n_threads; i++) {
        struct sf_detail_thread *last = n ? &x->threads[n - 1] : NULL;
        const struct sf_sampled_thread *t = &x->threads[i].t;
        if (!last || profile_rows_by_thread(last, &x->threads[i]) != 0) {
            x->threads[n++] = x->threads[i];
            continue;
        }
        last->t.kernel_id = t->kernel_id ? t->kernel_id : last->t.kernel_id;
        last->t.runtime_id = t->runtime_id ? t->runtime_id : last->t.runtime_id;
        last->t.name = t->name.len ? t->name : last->t.name;
    }
    struct sf_detail_thread *out = sf_arena_new_n(req, n + 1u, sizeof(*out));
    if (out && n)
        memcpy(out, x->threads, n * sizeof(*out));
    list->threads = out;
    list->n_threads = n;
    return out != NULL;
}

static enum sf_err see_details(void *arg, struct sf_profile_walk *w,
                               struct sf_profile_read_source *s, struct sf_why *why)
{
    struct detailing *x = arg;
    struct sf_profile_see see = {begin_rows, profile_rows_see_row, x, NULL, NULL, NULL};
    x->has_rows = NULL;
    enum sf_err err = sf_profile_details_ask(w, s, &x->select, x->query, &see, why);
    return err || !x->has_rows ? err : add_threads(x, w, s, why);
}

static bool profile_rows_take_rows(const struct detailing *x, struct sf_arena *req,
                                   struct sf_detail_rows *out)
{
    size_t n = (size_t)x->n + 1;
    uint64_t *process = sf_arena_new_n(req, n, 8), *thread = sf_arena_new_n(req, n, 8);
    int64_t *start = sf_arena_new_n(req, n, 8), *length = sf_arena_new_n(req, n, 8);
    int64_t *value = sf_arena_new_n(req, n, 8);
    uint8_t *state = sf_arena_new_n(req, n, 1);
    bool *has_time = sf_arena_new_n(req, n, sizeof(*has_time));
    bool *is_lent = sf_arena_new_n(req, n, sizeof(*is_lent));
    bool *is_coarse = sf_arena_new_n(req, n, sizeof(*is_coarse));
    uint32_t *series = sf_arena_new_n(req, n, 4), *node = sf_arena_new_n(req, n, 4);
    sf_span_id *span = sf_arena_new_n(req, n, sizeof(*span));
    sf_trace_id *trace = sf_arena_new_n(req, n, sizeof(*trace));
    if (!process || !thread || !start || !length || !value || !state || !has_time || !series ||
        !node || !span || !trace || !is_lent || !is_coarse)
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
        is_lent[i] = d->is_lent;
        is_coarse[i] = d->is_coarse;
        series[i] = d->series;
        node[i] = d->node;
        span[i] = d->span_id;
        trace[i] = d->trace_id;
    }
    *out = (struct sf_detail_rows){x->n, process, thread, start, length,   state,   series,
                                   node, value,   span,   trace, has_time, is_lent, is_coarse};
    return true;
}

enum sf_err sf_profile_rows_read(struct sf_store *store, const struct sf_detail_query *query,
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
    sf_profile_details_range(&w, query->from_ns, query->to_ns);
    sf_tree_builder_init(&x.builder, q->req, MAX_TREE_LEN, SF_TREE_COPIES);
    err = sf_profile_read_run(&w, see_details, &x, why);
    if (!err)
        err = sf_tree_builder_take(&x.builder, SF_STR_NONE, &list.tree, why);
    if (!err) {
        series = sf_arena_new_n(q->req, (size_t)x.n_series + 1, sizeof(*series));
        if (!series || !profile_rows_take_rows(&x, q->req, &list.rows) ||
            !take_threads(&x, q->req, &list))
            err = sf_no_room(why, "the answer");
        else if (x.n_series)
            memcpy(series, x.series, x.n_series * sizeof(*series));
        list.series = series;
        list.n_series = x.n_series;
    }
    if (!err)
        err = sf_profile_names_give(w.l, q, &list.tree, (uint32_t *)(uintptr_t)list.rows.node,
                                    list.rows.n_rows, why);
    if (!err)
        *out = list;
    sf_tree_builder_done(&x.builder);
    sf_profile_select_done(&x.select);
    sf_heap_free(x.rows);
    sf_heap_free(x.processes);
    sf_heap_free(x.threads);
    sf_heap_free(x.series);
    return err;
}
