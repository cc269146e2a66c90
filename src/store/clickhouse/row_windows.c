/* row_windows.c - a cursor over single spans of all nodes, in windows of time.
 *
 * First all rows are requested with a limit; most queries fit. If a shard has more, the shards
 * count the rows by bucket of 300 s (ranges up to a day: also by second), and the buckets are
 * grouped into windows of about WINDOW_ROWS rows per shard; a larger bucket is split by start
 * time. Each window is then read from all shards and from this node's store into a view, and the
 * local scan of the view gives its rows. */
#include "store/clickhouse/row_windows.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/time_unit.h"
#include "store/clickhouse/cond_sql.h"
#include "store/clickhouse/span_gather.h"
#include "store/local/view.h"
#include "wire/row_binary.h"

enum {
    WINDOW_ROWS = 50000, /* about, for each shard */
    BUCKET_S = 300,
    COUNTS_LEN = 16 << 20,
    FINE_S = 86400, /* up to this length of the range, rows are counted by second */
    WIDE = SF_COL_ATTRS | SF_COL_EVENTS | SF_COL_LINKS | SF_COL_REST
};

struct count {
    uint32_t bucket_s, start_s;
    uint64_t n;
};

/* Buckets [from, to); or, of one bucket, starts in [low, high). The first of all windows has no end
 * and the last no start, and likewise the first and last of a bucket. */
struct window {
    uint32_t from_s, to_s, low_s, high_s;
    bool is_first, is_last;
    bool has_low, has_high;
};

struct windows {
    struct sf_remote_source source;
    struct sf_query_ctx *q;
    struct sf_span_query query;
    struct sf_span_gather gather;
    struct sf_buf where; /* conditions except the window */
    struct sf_buf columns;
    struct window *list; /* newest first */
    uint32_t n, cap, at;
    struct sf_store *view;
    bool is_whole; /* one window is enough */
};

struct rows_cursor {
    struct sf_span_cursor base;
    struct windows w;
    struct sf_span_cursor *inner;
};

struct columns_cursor {
    struct sf_column_cursor base;
    struct windows w;
    struct sf_column_cursor *inner;
};

/* ---- windows ---- */

static int row_windows_newest_first(const void *x, const void *y)
{
    const struct count *a = x, *b = y;
    if (a->bucket_s != b->bucket_s)
        return a->bucket_s > b->bucket_s ? -1 : 1;
    return a->start_s > b->start_s ? -1 : a->start_s < b->start_s;
}

static bool is_fine(const struct windows *w)
{
    return w->query.to_ns > w->query.from_ns && w->query.from_ns > 0 &&
           w->query.to_ns - w->query.from_ns <= FINE_S * SF_NS_PER_S;
}

struct counts {
    struct count *list;
    uint32_t n, cap;
};

static void put_counts(const struct windows *w, struct sf_buf *sql)
{
    sf_buf_print(sql, "SELECT bucket, %s AS s, toUInt64(count()) FROM %s.spans WHERE ",
                 is_fine(w) ? "toUInt32(least(intDiv(start_ns, 1000000000), 4294967295))"
                            : "toUInt32(0)",
                 w->source.database);
    sf_buf_add_str(sql, sf_buf_str(&w->where));
    sf_buf_print(sql, " GROUP BY bucket, s FORMAT RowBinary");
}

static enum sf_err row_windows_take_counts(sf_bytes in, struct counts *to, struct sf_why *why)
{
    struct sf_row_reader r = sf_row_reader_init(in);
    while (sf_row_more(&r)) {
        if (!sf_list_room(&to->list, to->n, &to->cap, 256))
            return sf_no_memory(why, "the windows of a query");
        to->list[to->n].bucket_s = sf_row_binary_u32(&r);
        to->list[to->n].start_s = sf_row_binary_u32(&r);
        to->list[to->n].n = sf_row_binary_u64(&r);
        to->n += !r.fault;
    }
    return sf_row_binary_check(&r, why);
}

static enum sf_err row_windows_add_window(struct windows *w, struct window one, struct sf_why *why)
{
    if (!sf_list_room(&w->list, w->n, &w->cap, 16))
        return sf_no_memory(why, "the windows of a query");
    w->list[w->n++] = one;
    return SF_OK;
}

/* Splits a bucket with too many rows into windows by start, newest first. In a long range rows were
 * not counted by second and are assumed to be evenly distributed. */
static enum sf_err row_windows_split(struct windows *w, const struct count *list, uint32_t n,
                                     uint64_t total, uint64_t most, uint32_t end_s,
                                     struct sf_why *why)
{
    uint32_t bucket_s = list[0].bucket_s, high_s = 0;
    uint64_t rows = 0;
    bool has_high = false, is_even = !is_fine(w);
    enum sf_err err = SF_OK;
    uint32_t n_steps = is_even ? BUCKET_S : n;
    for (uint32_t i = 0; !err && i < n_steps; i++) {
        uint32_t start_s = is_even ? bucket_s + BUCKET_S - 1 - i : list[i].start_s;
        uint64_t next = is_even ? total / BUCKET_S : i + 1 < n ? list[i + 1].n : 0;
        rows += is_even ? total / BUCKET_S : list[i].n;
        if (i + 1 < n_steps &&
            ((!is_even && list[i + 1].start_s == start_s) || rows + next <= most))
            continue;
        err = row_windows_add_window(w,
                                     (struct window){.from_s = bucket_s,
                                                     .to_s = end_s,
                                                     .low_s = start_s,
                                                     .high_s = high_s,
                                                     .has_low = i + 1 < n_steps,
                                                     .has_high = has_high},
                                     why);
        high_s = start_s;
        has_high = true;
        rows = 0;
    }
    return err;
}

/* Groups consecutive buckets whose rows fit into one window. */
static enum sf_err row_windows_plan(struct windows *w, struct count *list, uint32_t n,
                                    struct sf_why *why)
{
    uint64_t rows = 0, most = (uint64_t)WINDOW_ROWS * w->source.n_shards;
    uint32_t end_s = UINT32_MAX, last_s = 0;
    enum sf_err err = SF_OK;
    if (n)
        qsort(list, n, sizeof(*list), row_windows_newest_first);
    for (uint32_t i = 0, k; !err && i < n; i = k) {
        uint64_t total = 0;
        uint32_t bucket_s = list[i].bucket_s;
        for (k = i; k < n && list[k].bucket_s == bucket_s; k++)
            total += list[k].n;
        if (rows && rows + total > most) {
            err = row_windows_add_window(w, (struct window){.from_s = last_s, .to_s = end_s}, why);
            end_s = last_s;
            rows = 0;
        }
        rows += total;
        last_s = bucket_s;
        if (err || total <= most)
            continue;
        err = row_windows_split(w, &list[i], k - i, total, most, end_s, why);
        end_s = bucket_s;
        rows = 0;
    }
    if (!err && (rows || w->n == 0))
        err = row_windows_add_window(w, (struct window){.from_s = rows ? last_s : 0, .to_s = end_s},
                                     why);
    for (uint32_t i = 0; !err && i < w->n; i++) { /* the first bucket may have several windows */
        w->list[i].is_first = w->list[i].to_s == UINT32_MAX;
        w->list[i].is_last = w->list[i].from_s == w->list[w->n - 1].from_s;
    }
    return err;
}

static enum sf_err make_windows(struct windows *w, struct sf_why *why)
{
    struct sf_remote_query *list = sf_remote_source_queries(&w->source, 1, COUNTS_LEN);
    struct sf_buf sql = {0};
    struct counts counts = {0};
    enum sf_err err = list ? SF_OK : sf_no_memory(why, "queries to shards");
    put_counts(w, &sql);
    if (list)
        sf_remote_source_ask_each(&w->source, w->q, &sql, list);
    for (uint32_t i = 0; !err && i < w->source.n_shards; i++) {
        uint32_t before = counts.n;
        err = sf_remote_source_result(&list[i], why);
        if (!err)
            err = row_windows_take_counts(sf_buf_bytes(&list[i].out), &counts, why);
        if (err && sf_remote_source_goes_on(&w->source, i, w->q, err)) {
            counts.n = before;
            err = SF_OK;
        }
    }
    if (!err)
        err = row_windows_plan(w, counts.list, counts.n, why);
    sf_heap_free(counts.list);
    sf_buf_done(&sql);
    sf_remote_source_queries_free(&w->source, list, 1);
    return err;
}

/* ---- one window ---- */

struct own_rows { /* rows of this node in one window */
    struct sf_span_cursor base;
    struct sf_span_cursor *from;
    const struct window *window;
    struct sf_span_rows rows;
    uint8_t is_in[SF_ROWS_MAX];
};

static uint64_t first_ns(const struct window *w)
{
    return w->has_low   ? (uint64_t)w->low_s * SF_NS_PER_S
           : w->is_last ? 0
                        : (uint64_t)w->from_s * SF_NS_PER_S;
}

static uint64_t end_ns(const struct window *w)
{
    return w->has_high   ? (uint64_t)w->high_s * SF_NS_PER_S
           : w->is_first ? UINT64_MAX
                         : (uint64_t)w->to_s * SF_NS_PER_S;
}

static bool own_next(struct sf_span_cursor *base, struct sf_span_rows *out)
{
    struct own_rows *o = (struct own_rows *)base;
    uint64_t from_ns = first_ns(o->window), to_ns = end_ns(o->window);
    if (!o->from->next(o->from, out)) {
        base->err = o->from->err;
        base->why = o->from->why;
        return false;
    }
    for (uint32_t i = 0; i < out->n_rows; i++)
        o->is_in[i] = (!out->is_in || out->is_in[i]) && out->start_ns[i] >= from_ns &&
                      (out->start_ns[i] < to_ns || to_ns == UINT64_MAX);
    out->is_in = o->is_in;
    return true;
}

/* Restricts the query on this node's store to the window. */
static void row_windows_narrow(struct sf_span_query *own, const struct window *window)
{
    uint64_t from_ns = first_ns(window), to_ns = end_ns(window);
    bool is_all = own->from_ns == 0 && own->to_ns == 0;
    if (is_all)
        own->to_ns = INT64_MAX;
    if (from_ns <= INT64_MAX && (int64_t)from_ns > own->from_ns)
        own->from_ns = (int64_t)from_ns;
    if (to_ns <= INT64_MAX && (int64_t)to_ns < own->to_ns)
        own->to_ns = (int64_t)to_ns;
}

static enum sf_err row_windows_add_own(struct windows *w, const struct window *window,
                                       struct sf_why *why)
{
    struct own_rows *o = sf_heap_new(sizeof(*o));
    struct sf_span_query own = w->query;
    enum sf_err err;
    if (!o)
        return sf_no_memory(why, "this node's rows");
    own.columns = sf_span_gather_needs_attrs(&w->query) ? SF_COL_ALL : SF_COL_ALL & ~WIDE;
    own.want_keys = NULL;
    own.n_want = 0;
    own.judge = NULL;
    own.limit_traces = 0;
    own.has_whole_traces = false;
    row_windows_narrow(&own, window);
    o->window = window;
    o->base.next = own_next;
    err = w->source.own_ops->span_scan(w->source.store, &own, w->q, &o->from, why);
    if (!err) {
        err = sf_span_gather_own(&o->base, w->view, NULL, NULL, why);
        o->from->close(o->from);
    }
    sf_heap_free(o);
    return err;
}

static void row_windows_drop_view(struct windows *w)
{
    sf_view_close(w->view);
    w->view = NULL;
}

/* Opens the next window. NOT_FOUND: none left. */
static enum sf_err next_window(struct windows *w, struct sf_why *why)
{
    const struct window *window;
    struct sf_buf where = {0};
    enum sf_err err;
    row_windows_drop_view(w);
    if (w->at == w->n)
        return SF_ERR_NOT_FOUND;
    window = &w->list[w->at++];
    err = sf_view_open(w->source.store, &w->view, why);
    if (!w->is_whole) {
        sf_buf_add_str(&where, sf_buf_str(&w->where));
        if (!window->is_last)
            sf_buf_print(&where, " AND bucket >= %" PRIu32, window->from_s);
        if (!window->is_first)
            sf_buf_print(&where, " AND bucket < %" PRIu32, window->to_s);
        if (window->has_low || window->has_high) /* one of several windows of a bucket */
            sf_buf_print(&where, " AND bucket >= %" PRIu32, window->from_s);
        if (window->has_low)
            sf_buf_print(&where, " AND start_ns >= %" PRIu64,
                         window->low_s * (uint64_t)SF_NS_PER_S);
        if (window->has_high)
            sf_buf_print(&where, " AND start_ns < %" PRIu64,
                         window->high_s * (uint64_t)SF_NS_PER_S);
        if (!err)
            err = sf_span_gather_read(&w->gather, sf_buf_str(&where), 0, why);
    }
    if (!err)
        err = sf_span_gather_add(&w->gather, w->view, why);
    if (!err)
        err = row_windows_add_own(w, window, why);
    if (!err)
        err = sf_view_seal(w->view, why);
    sf_buf_done(&where);
    return err;
}

/* ---- open ---- */

/* Usually all rows fit into one window: then no counting is needed. */
static enum sf_err open_windows(struct windows *w, const struct sf_remote_source *source,
                                const struct sf_span_query *query, struct sf_query_ctx *q,
                                struct sf_why *why)
{
    enum sf_err err;
    w->source = *source;
    w->q = q;
    w->query = *query;
    sf_remote_source_tenants(source, q, &w->where);
    sf_cond_sql_where(source, query, q, &w->where);
    sf_span_gather_put_narrow(query, &w->columns);
    if (!sf_buf_ok(&w->columns))
        return sf_no_memory(why, "a question to ClickHouse");
    err = sf_span_gather_init(&w->gather, &w->source, q, why);
    w->gather.columns = sf_buf_str(&w->columns);
    if (!err)
        err = sf_span_gather_read(&w->gather, sf_buf_str(&w->where), WINDOW_ROWS, why);
    if (err)
        return err;
    w->is_whole = !w->gather.is_cut;
    return w->is_whole ? row_windows_plan(w, NULL, 0, why) : make_windows(w, why);
}

static void close_windows(struct windows *w)
{
    row_windows_drop_view(w);
    sf_span_gather_done(&w->gather);
    sf_buf_done(&w->where);
    sf_buf_done(&w->columns);
    sf_heap_free(w->list);
}

/* ---- rows ---- */

static bool rows_next(struct sf_span_cursor *base, struct sf_span_rows *out)
{
    struct rows_cursor *c = (struct rows_cursor *)base;
    while (!c->base.err) {
        if (c->inner && c->inner->next(c->inner, out))
            return true;
        if (c->inner) {
            c->base.err = c->inner->err;
            c->base.why = c->inner->why;
            c->base.n_left_out += c->inner->n_left_out;
            c->inner->close(c->inner);
            c->inner = NULL;
        }
        if (!c->base.err)
            c->base.err = next_window(&c->w, &c->base.why);
        if (c->base.err == SF_ERR_NOT_FOUND) {
            c->base.err = SF_OK;
            return false;
        }
        if (!c->base.err)
            c->base.err = c->w.source.own_ops->span_scan(c->w.view, &c->w.query, c->w.q, &c->inner,
                                                         &c->base.why);
    }
    return false;
}

static void rows_close(struct sf_span_cursor *base)
{
    struct rows_cursor *c = (struct rows_cursor *)base;
    if (!c)
        return;
    if (c->inner)
        c->inner->close(c->inner);
    close_windows(&c->w);
    sf_heap_free(c);
}

enum sf_err sf_row_windows_scan(const struct sf_remote_source *source,
                                const struct sf_span_query *query, struct sf_query_ctx *q,
                                struct sf_span_cursor **out, struct sf_why *why)
{
    struct rows_cursor *c = sf_heap_new(sizeof(*c));
    enum sf_err err;
    if (!c)
        return sf_no_memory(why, "a search");
    c->base = (struct sf_span_cursor){.next = rows_next, .close = rows_close};
    err = open_windows(&c->w, source, query, q, why);
    if (err) {
        rows_close(&c->base);
        return err;
    }
    *out = &c->base;
    return SF_OK;
}

/* ---- columns ---- */

static struct sf_span_columns *columns_next(struct sf_column_cursor *base)
{
    struct columns_cursor *c = (struct columns_cursor *)base;
    while (!c->base.err) {
        struct sf_span_columns *out = c->inner ? c->inner->next(c->inner) : NULL;
        if (out)
            return out;
        if (c->inner) {
            c->base.err = c->inner->err;
            c->base.why = c->inner->why;
            c->base.n_left_out += c->inner->n_left_out;
            c->inner->close(c->inner);
            c->inner = NULL;
        }
        if (!c->base.err)
            c->base.err = next_window(&c->w, &c->base.why);
        if (c->base.err == SF_ERR_NOT_FOUND) {
            c->base.err = SF_OK;
            return NULL;
        }
        if (!c->base.err)
            c->base.err = c->w.source.own_ops->span_columns(c->w.view, &c->w.query, c->w.q,
                                                            &c->inner, &c->base.why);
    }
    return NULL;
}

static void columns_close(struct sf_column_cursor *base)
{
    struct columns_cursor *c = (struct columns_cursor *)base;
    if (!c)
        return;
    if (c->inner)
        c->inner->close(c->inner);
    close_windows(&c->w);
    sf_heap_free(c);
}

enum sf_err sf_row_windows_columns(const struct sf_remote_source *source,
                                   const struct sf_span_query *query, struct sf_query_ctx *q,
                                   struct sf_column_cursor **out, struct sf_why *why)
{
    struct columns_cursor *c = sf_heap_new(sizeof(*c));
    enum sf_err err;
    if (!c)
        return sf_no_memory(why, "a search");
    c->base = (struct sf_column_cursor){.next = columns_next, .close = columns_close};
    err = open_windows(&c->w, source, query, q, why);
    if (err) {
        columns_close(&c->base);
        return err;
    }
    *out = &c->base;
    return SF_OK;
}
