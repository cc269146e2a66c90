/* profile_top.c - the spans with the largest sums of detail rows, among any number of spans.
 *
 * Rows are not sorted by span, and a function may have run in millions of them. So matching rows
 * are written as (span, value) into partitions by a hash of the span, and one partition after the
 * other is summed in a table that fits the cache; only the largest sums are kept. When memory for
 * the partitions is full, the upper half of the partitions is dropped and left to another pass: the
 * answer is exact and memory is bounded; only the time grows. The other fields of a span (trace,
 * start, samples) are read at the end, only for those in the answer. */
#include <stdlib.h>

#include "base/heap.h"
#include "base/heap_queue.h"
#include "base/num.h"
#include "base/table.h"
#include "store/local/profiles/profile_details.h"
#include "store/local/profiles/profile_frames.h"
#include "store/local/profiles/profile_names.h"
#include "store/local/profiles/profile_query.h"

enum { PARTS = 256, PIECE_ROWS = 255 };
struct piece { /* one memory page of a partition */
    struct piece *next;
    uint64_t n;
    struct sf_profile_cost rows[PIECE_ROWS];
};

struct topping {
    const struct sf_detail_query *query;
    const struct sf_frame_test *test;
    struct sf_profile_select select;
    const bool *is_node; /* by node of the current source; NULL: all */
    struct sf_arena rows;
    struct piece *parts[PARTS], *spare;
    unsigned from, to;            /* partitions of this pass */
    struct sf_profile_cost *sums; /* of the current partition */
    uint64_t cap_sums;
    struct sf_table at;
    struct sf_profile_cost *heap; /* largest sums so far, as a heap with the smallest first */
    uint32_t n, limit;
    uint64_t n_found;
    int64_t value;
    size_t counted_len;
};

/* ---- what is found ---- */

static void profile_top_drop_parts(struct topping *x, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        while (x->parts[i]) {
            struct piece *p = x->parts[i];
            x->parts[i] = p->next;
            p->next = x->spare;
            x->spare = p;
        }
    }
}

/* NULL: not even one partition fits. */
static struct piece *new_piece(struct topping *x)
{
    struct piece *p = x->spare ? NULL : sf_arena_raw(&x->rows, sizeof(*p), 64);
    while (!p && !x->spare && x->to - x->from > 1) {
        unsigned half = x->from + (x->to - x->from) / 2;
        profile_top_drop_parts(x, half, x->to);
        x->to = half;
    }
    if (!p && x->spare) {
        p = x->spare;
        x->spare = p->next;
    }
    if (p)
        p->n = 0;
    return p;
}

static uint64_t profile_top_hash_of(sf_span_id id)
{
    return sf_key_u64(id);
}

static bool profile_top_add(struct topping *x, sf_span_id id, int64_t value)
{
    unsigned part = (unsigned)(profile_top_hash_of(id) >> 56);
    if (part < x->from || part >= x->to)
        return true;
    struct piece *p = x->parts[part];
    if (!p || p->n == PIECE_ROWS) {
        p = new_piece(x);
        if (!p)
            return false;
        p->next = x->parts[part];
        x->parts[part] = p;
        if (part >= x->to) { /* its partition was just dropped */
            profile_top_drop_parts(x, part, part + 1);
            return true;
        }
    }
    p->rows[p->n++] = (struct sf_profile_cost){id, value};
    return true;
}

static bool profile_top_see_row(void *arg, const struct sf_profile_detail *d)
{
    struct topping *x = arg;
    return d->span_id == 0 || d->is_lent || (x->is_node && !x->is_node[d->node]) ||
           profile_top_add(x, d->span_id, d->value);
}

static bool profile_top_see_columns(void *arg, const bool *is_series,
                                    const struct sf_profile_columns *c)
{
    struct topping *x = arg;
    uint32_t at = 0;
    for (uint32_t i = 0; i < c->n_runs; i++) {
        const struct sf_profile_run *run = &c->runs[i];
        bool has_any = false;
        int64_t sum = 0;
        for (uint32_t end = at + run->n; at < end; at++) {
            if ((x->is_node && !x->is_node[c->node[at]]) || !is_series[c->series[at]] ||
                (c->flags[at] & SF_PROFILE_LENT))
                continue;
            sum = sf_add_sat_i64(sum, c->value[at]);
            has_any = true;
        }
        if (has_any && run->span_id && !profile_top_add(x, run->span_id, sum))
            return false;
    }
    return true;
}

static bool see_costs(void *arg, const struct sf_profile_cost *costs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!profile_top_add(arg, costs[i].span_id, costs[i].value))
            return false;
    return true;
}

static enum sf_err profile_top_begin(void *arg, struct sf_profile_walk *w,
                                     struct sf_profile_read_source *s, const bool *is_series,
                                     struct sf_why *why)
{
    struct topping *x = arg;
    (void)is_series;
    return x->test ? sf_profile_frames_find(w, s, x->test, &x->is_node, why) : SF_OK;
}

static enum sf_err profile_top_see_source(void *arg, struct sf_profile_walk *w,
                                          struct sf_profile_read_source *s, struct sf_why *why)
{
    struct topping *x = arg;
    struct sf_profile_see see = {profile_top_begin,       profile_top_see_row, x,
                                 profile_top_see_columns, see_costs,           &x->is_node};
    /* Counted for the query; if the budget is used up, it continues with less memory. */
    (void)sf_budget_query(&w->l->budget, &x->counted_len, sf_arena_used(&x->rows), NULL);
    return sf_profile_details_ask(w, s, &x->select, x->query, &see, why);
}

/* ---- sums ---- */

static bool is_dearer(const struct sf_profile_cost *x, const struct sf_profile_cost *y)
{
    return x->value != y->value ? x->value > y->value : x->span_id < y->span_id;
}

/* Heap order: the smallest first. */
static bool is_cheaper(const void *arg, const void *a, const void *b)
{
    (void)arg;
    return is_dearer(b, a);
}

/* Most spans are smaller than all kept ones. */
static void profile_top_offer(struct topping *x, const struct sf_profile_cost *c)
{
    x->n_found++;
    x->value = sf_add_sat_i64(x->value, c->value);
    if (x->n < x->limit) {
        x->heap[x->n] = *c;
        sf_heap_queue_rise(x->heap, x->n++, sizeof(*c), is_cheaper, NULL);
    } else if (x->n && is_dearer(c, &x->heap[0])) {
        x->heap[0] = *c;
        sf_heap_queue_sink(x->heap, x->n, 0, sizeof(*c), is_cheaper, NULL);
    }
}

static bool profile_top_make_table(struct topping *x, const struct piece *part)
{
    uint64_t n = 0;
    for (const struct piece *p = part; p; p = p->next)
        n += p->n;
    if (n > x->cap_sums) {
        struct sf_profile_cost *sums = sf_heap_grow(x->sums, n, sizeof(*sums));
        if (!sums)
            return false;
        x->sums = sums;
        x->cap_sums = n;
    }
    return n <= UINT32_MAX && sf_table_reset(&x->at, (uint32_t)n);
}

static bool profile_top_sum_part(struct topping *x, const struct piece *part)
{
    uint32_t n = 0;
    if (!part)
        return true;
    if (!profile_top_make_table(x, part))
        return false;
    for (const struct piece *p = part; p; p = p->next) {
        for (uint64_t i = 0; i < p->n; i++) {
            const struct sf_profile_cost *row = &p->rows[i];
            struct sf_table_lookup lookup;
            uint32_t at;
            bool is_new = true;
            lookup = sf_table_lookup(&x->at, profile_top_hash_of(row->span_id));
            while (is_new && sf_table_next(&lookup, &at))
                is_new = x->sums[at].span_id != row->span_id;
            if (is_new) {
                sf_table_keep(&x->at, &lookup, n);
                x->sums[n++] = *row;
            } else {
                x->sums[at].value = sf_add_sat_i64(x->sums[at].value, row->value);
            }
        }
    }
    for (uint32_t i = 0; i < n; i++)
        profile_top_offer(x, &x->sums[i]);
    return true;
}

static enum sf_err walk_parts(struct topping *x, struct sf_profile_walk *w, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (x->from = 0; !err && x->from < PARTS; x->from = x->to) {
        x->to = PARTS;
        err = sf_profile_read_run(w, profile_top_see_source, x, why);
        for (unsigned i = x->from; !err && i < x->to; i++)
            if (!profile_top_sum_part(x, x->parts[i]))
                err = sf_no_memory(why, "the sums of spans");
        profile_top_drop_parts(x, x->from, x->to);
    }
    return err;
}

/* ---- the answer ---- */

static int profile_top_by_id(const void *a, const void *b)
{
    sf_span_id x = *(const sf_span_id *)a, y = *(const sf_span_id *)b;
    return (x > y) - (x < y);
}

static int profile_top_by_value(const void *a, const void *b)
{
    const struct sf_span_total *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Reads all fields of the spans in the heap. */
static enum sf_err profile_top_look_up(const struct topping *x, struct sf_store *store,
                                       struct sf_query_ctx *q, struct sf_span_top *out,
                                       struct sf_why *why)
{
    struct sf_detail_query ask = *x->query;
    struct sf_span_costs costs = {0};
    sf_span_id *ids = sf_arena_new_n(q->req, x->n + 1u, sizeof(*ids));
    struct sf_span_total *list;
    enum sf_err err = SF_OK;
    if (!ids)
        return sf_no_room(why, "the answer");
    for (uint32_t i = 0; i < x->n; i++)
        ids[i] = x->heap[i].span_id;
    qsort(ids, x->n, sizeof(*ids), profile_top_by_id);
    ask.span_ids = ids;
    ask.n_spans = x->n;
    if (x->n)
        err = sf_profile_sums_read(store, &ask, x->test, q, &costs, why);
    if (err)
        return err;
    list = sf_arena_new_n(q->req, costs.n + 1u, sizeof(*list));
    if (!list)
        return sf_no_room(why, "the answer");
    if (costs.n) {
        memcpy(list, costs.list, costs.n * sizeof(*list));
        qsort(list, costs.n, sizeof(*list), profile_top_by_value);
    }
    *out = (struct sf_span_top){list, costs.n, x->n_found, x->value};
    return SF_OK;
}

static enum sf_err top_once(struct sf_store *store, const struct sf_detail_query *query,
                            const struct sf_frame_test *test, uint32_t limit,
                            struct sf_query_ctx *q, struct sf_span_top *out, struct sf_why *why)
{
    struct topping x = {.query = query, .test = test, .limit = limit};
    struct sf_profile_walk w = {.l = (struct sf_local *)store, .q = q, .select = &x.select};
    enum sf_err err = sf_profile_select_init(&x.select, query->type, query->match, query->n_match,
                                             why);
    if (err)
        return err;
    x.heap = sf_arena_new_n(q->req, limit + 1u, sizeof(*x.heap));
    if (!x.heap)
        err = sf_no_room(why, "the answer");
    else if (!sf_arena_init(&x.rows, w.l->tune.top_len))
        err = sf_no_memory(why, "the sums of spans");
    sf_profile_details_range(&w, query->from_ns, query->to_ns);
    if (!err)
        err = walk_parts(&x, &w, why);
    sf_arena_done(&x.rows);
    (void)sf_budget_query(&w.l->budget, &x.counted_len, 0, NULL);
    if (!err)
        err = profile_top_look_up(&x, store, q, out, why);
    sf_heap_free(x.sums);
    sf_table_done(&x.at);
    sf_profile_select_done(&x.select);
    return err;
}

enum sf_err sf_profile_top_read(struct sf_store *store, const struct sf_detail_query *query,
                                const struct sf_frame_test *test, uint32_t limit,
                                struct sf_query_ctx *q, struct sf_span_top *out, struct sf_why *why)
{
    struct sf_names_search search = sf_profile_names_search(q);
    enum sf_err err;
    do
        err = top_once(store, query, test, limit, q, out, why);
    while (!err && test && sf_profile_names_again((struct sf_local *)store, q, &search));
    return err;
}
