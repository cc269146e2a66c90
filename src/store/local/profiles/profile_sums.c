/* profile_sums.c - sums of detail rows by span.
 *
 * Each row needs one lookup of its node, and consecutive rows of a span one lookup in the table of
 * spans. Rows are not sorted by span, so the table is a hash table; it is on the heap and stops
 * growing at MAX_SPANS. */
#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "base/table.h"
#include "store/local/profiles/profile_details.h"
#include "store/local/profiles/profile_frames.h"
#include "store/local/profiles/profile_names.h"
#include "store/local/profiles/profile_query.h"

enum { MAX_SPANS = 1 << 20, FIRST = 1 << 11 };

struct summing {
    const struct sf_detail_query *query;
    const struct sf_frame_test *test;
    struct sf_profile_select select;
    const bool *is_node; /* by node of the current source: does its stack have a requested frame?
                            NULL: all do */
    sf_str service;      /* of the current source, in the answer's memory */
    struct sf_span_total *spans;
    struct sf_table at;
    uint32_t n, cap;
    bool is_cut, is_full;
};

/* ---- the table ---- */

static struct sf_span_total *profile_sums_cost_of(struct summing *x, sf_span_id id)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (x->n < MAX_SPANS &&
        (!sf_list_room_max(&x->spans, x->n, &x->cap, FIRST, MAX_SPANS) || !sf_table_more(&x->at))) {
        x->is_full = true;
        return NULL;
    }
    lookup = sf_table_lookup(&x->at, sf_key_u64(id));
    while (sf_table_next(&lookup, &at)) {
        if (x->spans[at].id == id)
            return &x->spans[at];
    }
    if (x->n == MAX_SPANS) {
        x->is_cut = true;
        return NULL;
    }
    sf_table_keep(&x->at, &lookup, x->n);
    x->spans[x->n] = (struct sf_span_total){.id = id, .service = x->service, .start_ns = INT64_MAX};
    return &x->spans[x->n++];
}

/* ---- rows ---- */

static void see_thread(struct sf_span_total *c, uint64_t thread)
{
    if (thread == 0)
        return;
    c->n_threads += c->n_threads == 0 || c->thread != thread;
    c->thread = thread;
}

static bool profile_sums_see_row(void *arg, const struct sf_profile_detail *d)
{
    struct summing *x = arg;
    if (d->span_id == 0 || d->is_lent || (x->is_node && !x->is_node[d->node]))
        return true;
    struct sf_span_total *c = profile_sums_cost_of(x, d->span_id);
    if (!c)
        return !x->is_full;
    c->value = sf_add_sat_i64(c->value, d->value);
    see_thread(c, d->thread);
    c->n_samples++;
    c->start_ns = d->start_ns < c->start_ns ? d->start_ns : c->start_ns;
    if (sf_trace_id_is_zero(c->trace))
        c->trace = d->trace_id;
    return true;
}

/* Consecutive rows of one span are summed before the lookup. */
static bool profile_sums_see_columns(void *arg, const bool *is_series,
                                     const struct sf_profile_columns *c)
{
    struct summing *x = arg;
    uint32_t at = 0;
    for (uint32_t i = 0; i < c->n_runs; i++) {
        const struct sf_profile_run *run = &c->runs[i];
        uint32_t end = at + run->n;
        struct sf_span_total sum = {.start_ns = INT64_MAX};
        uint64_t first = 0; /* first thread of the run */
        for (; at < end; at++) {
            if ((x->is_node && !x->is_node[c->node[at]]) || !is_series[c->series[at]] ||
                (c->flags[at] & SF_PROFILE_LENT))
                continue;
            sum.value = sf_add_sat_i64(sum.value, c->value[at]);
            see_thread(&sum, c->thread ? c->thread[at] : 0);
            sum.n_samples++;
            first = first ? first : sum.thread;
            sum.start_ns = c->start_ns[at] < sum.start_ns ? c->start_ns[at] : sum.start_ns;
        }
        struct sf_span_total *to = run->span_id && sum.n_samples
                                       ? profile_sums_cost_of(x, run->span_id)
                                       : NULL;
        if (x->is_full)
            return false;
        if (!to)
            continue;
        to->value = sf_add_sat_i64(to->value, sum.value);
        if (sum.n_threads > 0) {
            to->n_threads += sum.n_threads - (to->n_threads > 0 && to->thread == first);
            to->thread = sum.thread;
        }
        to->n_samples += sum.n_samples;
        to->start_ns = sum.start_ns < to->start_ns ? sum.start_ns : to->start_ns;
        if (sf_trace_id_is_zero(to->trace))
            to->trace = run->trace_id;
    }
    return true;
}

static enum sf_err profile_sums_begin(void *arg, struct sf_profile_walk *w,
                                      struct sf_profile_read_source *s, const bool *is_series,
                                      struct sf_why *why)
{
    struct summing *x = arg;
    (void)is_series;
    if (!sf_arena_copy(w->q->req, s->service, &x->service))
        return sf_no_room(why, "the query");
    if (!x->test)
        return SF_OK;
    return sf_profile_frames_find(w, s, x->test, &x->is_node, why);
}

static enum sf_err profile_sums_see_source(void *arg, struct sf_profile_walk *w,
                                           struct sf_profile_read_source *s, struct sf_why *why)
{
    struct summing *x = arg;
    struct sf_profile_see see = {
        profile_sums_begin, profile_sums_see_row, x, profile_sums_see_columns, NULL, &x->is_node};
    return sf_profile_details_ask(w, s, &x->select, x->query, &see, why);
}

static enum sf_err sum_once(struct sf_store *store, const struct sf_detail_query *query,
                            const struct sf_frame_test *test, struct sf_query_ctx *q,
                            struct sf_span_costs *out, struct sf_why *why)
{
    struct summing x = {.query = query, .test = test};
    struct sf_profile_walk w = {.l = (struct sf_local *)store, .q = q, .select = &x.select};
    struct sf_span_total *list;
    enum sf_err err = sf_profile_select_init(&x.select, query->type, query->match, query->n_match,
                                             why);
    if (err)
        return err;
    sf_profile_details_range(&w, query->from_ns, query->to_ns);
    err = sf_profile_read_run(&w, profile_sums_see_source, &x, why);
    if (err && x.is_full)
        err = sf_fail(why, SF_ERR_NOMEM, "query: no memory for the sums of spans");
    list = err ? NULL : sf_arena_raw(q->req, (x.n + 1u) * sizeof(*list), 16);
    if (!err && !list)
        err = sf_fail(why, SF_ERR_LIMIT, "query: %u spans do not fit its memory", x.n);
    if (!err) {
        if (x.n)
            memcpy(list, x.spans, x.n * sizeof(*list));
        *out = (struct sf_span_costs){list, x.n, x.is_cut};
    }
    sf_heap_free(x.spans);
    sf_table_done(&x.at);
    sf_profile_select_done(&x.select);
    return err;
}

enum sf_err sf_profile_sums_read(struct sf_store *store, const struct sf_detail_query *query,
                                 const struct sf_frame_test *test, struct sf_query_ctx *q,
                                 struct sf_span_costs *out, struct sf_why *why)
{
    struct sf_names_search search = sf_profile_names_search(q);
    enum sf_err err;
    do
        err = sum_once(store, query, test, q, out, why);
    while (!err && test && sf_profile_names_again((struct sf_local *)store, q, &search));
    return err;
}
