/* trace_search.c - merges candidate traces of all shards and of this node by start time, reads them
 * in chunks, and evaluates them with the local scan.
 *
 * Candidates are requested in windows of time, the newest first and each longer than the one
 * before: most searches end with the first, and do not read the rest of their range. Windows are
 * ranges of buckets. A span whose start is before its bucket (an absurd clock) may be a candidate
 * of a window that is newer than its start, and waits.
 *
 * A candidate is found by the start of a matching span; its trace may begin before that. A trace
 * that turns out to begin before candidates that are not read yet is held back until these are
 * read, so that traces are returned in the order of their starts. (With oldest first this is not
 * possible: there the order is that of the candidates.) */
#include "store/clickhouse/trace_search.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/table.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "store/clickhouse/cond_sql.h"
#include "store/clickhouse/span_gather.h"
#include "store/local/view.h"
#include "wire/row_binary.h"

enum {
    FIRST_PAGE = 2048, /* candidates of a shard in one answer */
    NEXT_PAGE = 65536,
    FIRST_CHUNK = 64, /* traces in one view */
    MAX_CHUNK = 1024,
    LEAST_FIRST_CHUNK = 8,
    MOST_FIRST_CHUNK = 256,
    BUCKET_S = 300,
    FIRST_WINDOW_S = 2 * BUCKET_S, /* of candidates, */
    WINDOW_GROWTH = 3,             /* and how many times longer the next one is, */
    EMPTY_GROWTH = 9,              /* or if there was nothing in it */
    MAX_PAGES_LEN = NEXT_PAGE * 40,
};

struct candidate {
    sf_trace_id id;
    uint64_t start_ns; /* start of a span that may match, */
    bool is_exact;     /* or, if true, of the trace */
    bool is_late;      /* waits for older windows, and was not examined yet */
};

struct page { /* of one shard: its candidates in order; those from `at` on are not used yet */
    struct candidate *list;
    uint32_t n, at;
    bool has_more; /* in the window: after */
    struct candidate last;
    bool has_last, is_away;
};

/* Buckets in [low, high), without an end for the first window, without a start for the last one. */
struct window {
    uint32_t low_s, high_s, len_s;
    bool is_first, is_last;
};

struct member { /* one trace of the chunk */
    struct candidate c;
    uint64_t start_ns; /* of the trace */
    bool waits;
};

struct cursor {
    struct sf_span_cursor base;
    struct sf_remote_source source;
    struct sf_query_ctx *q;
    /* Copied from the caller; its lists must stay valid as long as the cursor. */
    struct sf_span_query query;
    bool is_newest;

    struct page *pages;
    struct window window; /* of all pages: the next one begins when all are used up */
    struct sf_span_cursor *own;
    struct sf_span_rows own_rows; /* the last rows read; those from own_row on are not examined */
    uint32_t own_row;
    struct candidate own_next;
    bool has_own_next;
    struct candidate *waiting; /* sorted, the next one at the end */
    uint32_t n_waiting, cap_waiting;

    sf_trace_id *seen;
    uint32_t n_seen, cap_seen;
    struct sf_table seen_at;

    struct sf_span_gather gather;
    struct sf_buf columns; /* of the spans of traces; empty: all */
    struct member *chunk;
    uint32_t n_chunk, cap_chunk, chunk_max;
    struct sf_table chunk_at;
    struct sf_store *view;
    struct sf_span_cursor *inner;
    /* Of the inner cursor; returned in parts if some traces are held back. */
    struct sf_span_rows rows;
    uint32_t row;
    struct sf_value_column *want; /* columns of the current part */
    uint32_t n_given;
    sf_trace_id last;
    bool has_ended;
};

/* ---- order ---- */

static int trace_search_compare(const struct cursor *c, const struct candidate *a,
                                const struct candidate *b)
{
    int order = a->start_ns > b->start_ns ? -1 : a->start_ns < b->start_ns;
    if (!c->is_newest)
        order = -order;
    return order ? order : sf_trace_id_cmp(a->id, b->id);
}

static bool note_seen(struct cursor *c, sf_trace_id id, bool *out_is_new)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!sf_table_more(&c->seen_at) || !sf_list_room(&c->seen, c->n_seen, &c->cap_seen, 1024))
        return false;
    lookup = sf_table_lookup(&c->seen_at, sf_trace_id_key(id, 0));
    *out_is_new = true;
    while (sf_table_next(&lookup, &at)) {
        if (sf_trace_id_eq(c->seen[at], id))
            *out_is_new = false;
    }
    if (*out_is_new) {
        c->seen[c->n_seen] = id;
        sf_table_keep(&c->seen_at, &lookup, c->n_seen++);
    }
    return true;
}

/* ---- candidates of a shard ---- */

static void trace_search_put_question(const struct cursor *c, const struct page *p, uint32_t limit,
                                      struct sf_buf *sql)
{
    const char *order = c->is_newest ? "DESC" : "ASC";
    sf_buf_print(sql, "SELECT trace_id, min(start_ns) AS first FROM %s.spans WHERE ",
                 c->source.database);
    sf_remote_source_tenants(&c->source, c->q, sql);
    if (!c->window.is_first)
        sf_buf_print(sql, " AND bucket < %" PRIu32, c->window.high_s);
    if (!c->window.is_last)
        sf_buf_print(sql, " AND bucket >= %" PRIu32, c->window.low_s);
    sf_cond_sql_where(&c->source, &c->query, c->q, sql);
    sf_buf_print(sql, " GROUP BY trace_id");
    if (p->has_last) {
        const struct candidate *last = &p->last;
        char hex[33] = "";
        sf_hex_encode(last->id.b, 16, hex);
        sf_buf_print(sql,
                     " HAVING first %s %" PRIu64 " OR (first = %" PRIu64
                     " AND trace_id > toFixedString(unhex('%s'), 16))",
                     c->is_newest ? "<" : ">", last->start_ns, last->start_ns, hex);
    }
    sf_buf_print(sql, " ORDER BY first %s, trace_id LIMIT %" PRIu32 " FORMAT RowBinary", order,
                 limit);
}

static enum sf_err read_page(struct page *p, sf_bytes in, uint32_t limit, struct sf_why *why)
{
    struct sf_row_reader r = sf_row_reader_init(in);
    uint32_t n = 0;
    p->at = p->n = 0;
    while (sf_row_more(&r)) {
        sf_str id = sf_row_binary_fixed(&r, sizeof(p->list->id.b));
        uint64_t start_ns = sf_row_binary_u64(&r);
        if (n == limit) /* more than was requested */
            return sf_fail(why, SF_ERR_CORRUPT, "ClickHouse: an answer of too many rows");
        if (r.fault)
            break;
        p->list[n] = (struct candidate){.start_ns = start_ns};
        memcpy(p->list[n].id.b, id.p, sizeof(p->list->id.b));
        n++;
    }
    p->n = n;
    p->has_more = n == limit;
    p->has_last = n > 0;
    if (n)
        p->last = p->list[n - 1];
    return sf_row_binary_check(&r, why);
}

static uint32_t page_limit(const struct page *p)
{
    return p->has_last ? NEXT_PAGE : FIRST_PAGE;
}

static bool needs_page(const struct page *p)
{
    return p->at == p->n && p->has_more;
}

/* The first window. The end of the range is later than the one that was asked for
 * (SF_LIMIT_SEARCH_SLACK_S), and may be in the future: what is after them belongs to the window. */
static struct window first_window(const struct cursor *c)
{
    int64_t from_s = c->query.from_ns / SF_NS_PER_S, now_s = sf_clock_wall_ns() / SF_NS_PER_S;
    int64_t low_s = c->query.to_ns / SF_NS_PER_S - SF_LIMIT_SEARCH_SLACK_S;
    low_s = ((low_s < now_s ? low_s : now_s) / BUCKET_S - 1) * BUCKET_S;
    if (!c->is_newest || from_s <= 0 || low_s <= from_s || low_s > UINT32_MAX)
        return (struct window){.is_first = true, .is_last = true};
    return (struct window){.low_s = (uint32_t)low_s, .len_s = FIRST_WINDOW_S, .is_first = true};
}

static void go_to_next_window(struct cursor *c)
{
    struct window *w = &c->window;
    uint32_t from_s = (uint32_t)(c->query.from_ns / SF_NS_PER_S);
    bool has_any = false;
    for (uint32_t i = 0; i < c->source.n_shards; i++)
        has_any = has_any || c->pages[i].n > 0;
    w->high_s = w->low_s;
    w->len_s = w->len_s > UINT32_MAX / EMPTY_GROWTH
                   ? UINT32_MAX
                   : w->len_s * (has_any ? WINDOW_GROWTH : EMPTY_GROWTH);
    w->is_first = false;
    w->is_last = w->low_s <= from_s || w->low_s - from_s <= w->len_s;
    w->low_s = w->is_last ? 0 : w->low_s - w->len_s;
    for (uint32_t i = 0; i < c->source.n_shards; i++) {
        struct page *p = &c->pages[i];
        p->has_more = !p->is_away;
        p->has_last = false;
        p->n = p->at = 0;
    }
}

static enum sf_err wait_with(struct cursor *c, struct candidate late, struct sf_why *why)
{
    uint32_t at;
    if (!sf_list_room(&c->waiting, c->n_waiting, &c->cap_waiting, 64))
        return sf_no_memory(why, "traces that may match");
    for (at = c->n_waiting++; at > 0 && trace_search_compare(c, &c->waiting[at - 1], &late) < 0;
         at--)
        c->waiting[at] = c->waiting[at - 1];
    c->waiting[at] = late;
    return SF_OK;
}

/* Candidates that begin before their window. The page has them last; the oldest is moved first, so
 * that none is inserted before many others. */
static enum sf_err put_off_late(struct cursor *c, struct page *p, struct sf_why *why)
{
    uint64_t low_ns = c->window.is_last ? 0 : c->window.low_s * (uint64_t)SF_NS_PER_S;
    enum sf_err err = SF_OK;
    while (!err && p->n && p->list[p->n - 1].start_ns < low_ns) {
        p->list[--p->n].is_late = true;
        err = wait_with(c, p->list[p->n], why);
    }
    return err;
}

static enum sf_err trace_search_take_page(struct cursor *c, uint32_t shard,
                                          const struct sf_remote_query *query, struct sf_why *why)
{
    struct page *p = &c->pages[shard];
    uint32_t limit = page_limit(p);
    enum sf_err err = sf_remote_source_result(query, why);
    struct candidate *list = err ? NULL : sf_heap_grow(p->list, limit, sizeof(*list));
    if (!err && !list)
        err = sf_no_memory(why, "traces that may match");
    if (!err) {
        p->list = list;
        err = read_page(p, sf_buf_bytes(&query->out), limit, why);
    }
    if (!err)
        err = put_off_late(c, p, why);
    if (err && sf_remote_source_goes_on(&c->source, shard, c->q, err)) {
        p->n = p->at = 0;
        p->is_away = true;
        p->has_more = false;
        err = SF_OK;
    }
    return err;
}

/* Reads the next page of each shard whose page is used up. */
static enum sf_err load_round(struct cursor *c, struct sf_why *why)
{
    struct sf_remote_query *list = sf_remote_source_queries(&c->source, 1, MAX_PAGES_LEN);
    enum sf_err err = SF_OK;
    if (!list)
        return sf_no_memory(why, "queries to shards");
    for (uint32_t i = 0; i < c->source.n_shards; i++) {
        struct page *p = &c->pages[i];
        if (needs_page(p))
            trace_search_put_question(c, p, page_limit(p), &list[i].sql);
    }
    sf_remote_source_ask_all(&c->source, c->q, list, c->source.n_shards);
    for (uint32_t i = 0; !err && i < c->source.n_shards; i++) {
        if (list[i].sql.len)
            err = trace_search_take_page(c, i, &list[i], why);
    }
    sf_remote_source_queries_free(&c->source, list, 1);
    return err;
}

static enum sf_err load_pages(struct cursor *c, struct sf_why *why)
{
    for (;;) { /* a window may have no candidates */
        bool needs_any = false, has_any = false;
        enum sf_err err;
        for (uint32_t i = 0; i < c->source.n_shards; i++) {
            needs_any = needs_any || needs_page(&c->pages[i]);
            has_any = has_any || c->pages[i].at < c->pages[i].n;
        }
        if (!needs_any && (has_any || c->window.is_last))
            return SF_OK;
        if (!needs_any)
            go_to_next_window(c);
        err = load_round(c, why);
        if (err)
            return err;
    }
}

/* ---- this node's own ---- */

static enum sf_err end_own(struct cursor *c, struct sf_why *why)
{
    enum sf_err err = c->own->err;
    if (err)
        *why = c->own->why;
    c->base.n_left_out += c->own->n_left_out;
    c->base.left_out = c->own->left_out;
    c->own->close(c->own);
    c->own = NULL;
    return err;
}

/* Rows are grouped by trace, in the order of starts. A trace that continues in the next batch is
 * seen twice; the second time it is already known. */
static enum sf_err load_own(struct cursor *c, struct sf_why *why)
{
    while (c->own && !c->has_own_next) {
        const struct sf_span_rows *rows = &c->own_rows;
        uint32_t at = c->own_row;
        if (at >= rows->n_rows) {
            c->own_row = 0;
            if (!c->own->next(c->own, &c->own_rows)) {
                c->own_rows.n_rows = 0;
                return end_own(c, why);
            }
            continue;
        }
        c->own_next = (struct candidate){.id = rows->trace_id[at], .start_ns = rows->start_ns[at]};
        c->has_own_next = true;
        while (at < rows->n_rows && sf_trace_id_eq(rows->trace_id[at], c->own_next.id))
            at++;
        c->own_row = at;
    }
    return SF_OK;
}

/* ---- the next candidate of all ---- */

static enum sf_err trace_search_peek(struct cursor *c, const struct candidate **out,
                                     uint32_t *out_from, struct sf_why *why)
{
    enum sf_err err = load_own(c, why);
    *out = NULL;
    if (!err)
        err = load_pages(c, why);
    for (uint32_t i = 0; !err && i < c->source.n_shards; i++) {
        struct page *p = &c->pages[i];
        if (p->at < p->n && (!*out || trace_search_compare(c, &p->list[p->at], *out) < 0)) {
            *out = &p->list[p->at];
            *out_from = i;
        }
    }
    if (!err && c->has_own_next && (!*out || trace_search_compare(c, &c->own_next, *out) < 0)) {
        *out = &c->own_next;
        *out_from = c->source.n_shards;
    }
    if (!err && c->n_waiting &&
        (!*out || trace_search_compare(c, &c->waiting[c->n_waiting - 1], *out) < 0)) {
        *out = &c->waiting[c->n_waiting - 1];
        *out_from = c->source.n_shards + 1;
    }
    return err;
}

static void trace_search_take(struct cursor *c, uint32_t from)
{
    if (from < c->source.n_shards)
        c->pages[from].at++;
    else if (from == c->source.n_shards)
        c->has_own_next = false;
    else
        c->n_waiting--;
}

/* ---- a chunk ---- */

static struct member *trace_search_find(const struct cursor *c, sf_trace_id id)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!c->chunk_at.n_slots)
        return NULL;
    lookup = sf_table_lookup(&c->chunk_at, sf_trace_id_key(id, 0));
    while (sf_table_next(&lookup, &at)) {
        if (sf_trace_id_eq(c->chunk[at].c.id, id))
            return &c->chunk[at];
    }
    return NULL;
}

static enum sf_err trace_search_choose(struct cursor *c, struct sf_why *why)
{
    const struct candidate *next;
    uint32_t from = 0;
    enum sf_err err = SF_OK;
    c->n_chunk = 0;
    if (!sf_table_reset(&c->chunk_at, c->chunk_max))
        return sf_no_memory(why, "traces that may match");
    while (!err && c->n_chunk < c->chunk_max) {
        struct candidate one;
        bool is_new = true;
        err = trace_search_peek(c, &next, &from, why);
        if (err || !next)
            break;
        one = *next;
        trace_search_take(c, from);
        if ((from <= c->source.n_shards || one.is_late) && !note_seen(c, one.id, &is_new))
            err = sf_no_memory(why, "traces that may match");
        if (err || !is_new)
            continue;
        if (!sf_list_room(&c->chunk, c->n_chunk, &c->cap_chunk, FIRST_CHUNK))
            return sf_no_memory(why, "traces that may match");
        sf_table_put(&c->chunk_at, sf_trace_id_key(one.id, 0), c->n_chunk);
        c->chunk[c->n_chunk++] = (struct member){.c = one, .start_ns = UINT64_MAX};
    }
    return err;
}

static void trace_search_note_start(void *arg, sf_trace_id id, uint64_t start_ns)
{
    struct member *m = trace_search_find(arg, id);
    if (m && start_ns < m->start_ns)
        m->start_ns = start_ns;
}

static void trace_search_put_ids(const struct cursor *c, struct sf_buf *sql)
{
    sf_remote_source_tenants(&c->source, c->q, sql);
    sf_buf_print(sql, " AND trace_id IN (");
    for (uint32_t i = 0; i < c->n_chunk; i++) {
        sf_buf_print(sql, "%s", i ? "," : "");
        sf_remote_source_put_id(sql, c->chunk[i].c.id);
    }
    sf_buf_print(sql, ")");
}

/* Where the span is that made the trace a candidate: the table of traces may have lost its day. */
static void trace_search_put_starts(const struct cursor *c, struct sf_buf *sql)
{
    for (uint32_t i = 0; i < c->n_chunk; i++) {
        sf_buf_print(sql, "%s(%" PRIu64 ",", i ? "," : "",
                     c->chunk[i].c.start_ns / (BUCKET_S * SF_NS_PER_S) * BUCKET_S & UINT32_MAX);
        sf_remote_source_put_id(sql, c->chunk[i].c.id);
        sf_buf_print(sql, ")");
    }
}

static enum sf_err trace_search_add_own(struct cursor *c, struct sf_why *why)
{
    struct sf_trace_ask *asks = sf_heap_new_n((size_t)c->n_chunk + 1, sizeof(*asks));
    struct sf_span_cursor *own = NULL;
    enum sf_err err = asks ? SF_OK : sf_no_memory(why, "a question");
    for (uint32_t i = 0; asks && i < c->n_chunk; i++)
        asks[i].id = c->chunk[i].c.id;
    if (!err)
        err = c->source.own_ops->traces_get(c->source.store, asks, c->n_chunk, c->q, &own, why);
    if (!err) {
        err = sf_span_gather_own(own, c->view, trace_search_note_start, c, why);
        own->close(own);
    }
    sf_heap_free(asks);
    return err;
}

/* Holds back traces that begin before traces that are still to be read. */
static enum sf_err put_off(struct cursor *c, struct sf_why *why)
{
    const struct candidate *next = NULL;
    struct candidate after;
    uint32_t from;
    enum sf_err err = c->is_newest ? trace_search_peek(c, &next, &from, why) : SF_OK;
    if (err || !next)
        return err;
    after = *next;
    for (uint32_t i = 0; !err && i < c->n_chunk; i++) {
        struct member *m = &c->chunk[i];
        struct candidate own = {.id = m->c.id, .start_ns = m->start_ns, .is_exact = true};
        if (m->c.is_exact || m->start_ns == UINT64_MAX ||
            trace_search_compare(c, &own, &after) <= 0)
            continue;
        m->waits = true;
        err = wait_with(c, own, why);
    }
    return err;
}

static void trace_search_drop_view(struct cursor *c)
{
    if (c->inner) {
        c->base.n_left_out += c->inner->n_left_out;
        c->base.left_out = c->inner->n_left_out ? c->inner->left_out : c->base.left_out;
        c->inner->close(c->inner);
    }
    c->inner = NULL;
    sf_view_close(c->view);
    c->view = NULL;
    c->rows.n_rows = c->row = 0;
}

static enum sf_err trace_search_read_chunk(struct cursor *c, struct sf_why *why)
{
    struct sf_span_query query = c->query;
    struct sf_buf which = {0}, starts = {0}, where = {0};
    enum sf_err err = trace_search_choose(c, why);
    if (err || c->n_chunk == 0) {
        c->has_ended = !err;
        return err;
    }
    trace_search_put_ids(c, &which);
    trace_search_put_starts(c, &starts);
    sf_span_gather_put_traces(&c->source, sf_buf_str(&which), sf_buf_str(&starts), &where);
    err = sf_buf_ok(&which) && sf_buf_ok(&starts) && sf_buf_ok(&where)
              ? sf_view_open(c->source.store, &c->view, why)
              : sf_no_memory(why, "a statement");
    sf_buf_done(&which);
    sf_buf_done(&starts);
    if (!err)
        err = sf_span_gather_read(&c->gather, sf_buf_str(&where), 0, why);
    for (uint32_t i = 0; !err && i < c->gather.found.n_rows; i++)
        trace_search_note_start(c, c->gather.found.rows[i].span.trace_id,
                                c->gather.found.rows[i].span.start_ns);
    if (!err)
        err = sf_span_gather_add(&c->gather, c->view, why);
    if (!err)
        err = trace_search_add_own(c, why);
    if (!err)
        err = sf_view_seal(c->view, why);
    if (!err)
        err = put_off(c, why);
    query.limit_traces = 0;
    query.columns |= SF_COL_START;
    if (!err)
        err = c->source.own_ops->span_scan(c->view, &query, c->q, &c->inner, why);
    sf_buf_done(&where);
    if (c->chunk_max < MAX_CHUNK)
        c->chunk_max *= 2;
    return err;
}

/* ---- the cursor ---- */

/* The next rows of traces that are not held back; false: none left in these rows, or the limit is
 * reached. */
static bool trace_search_give_rows(struct cursor *c, struct sf_span_rows *out)
{
    uint32_t from = c->row, to;
    bool waits = true;
    while (waits && c->row < c->rows.n_rows) { /* skip traces that are held back */
        const struct member *m = trace_search_find(c, c->rows.trace_id[c->row]);
        waits = m && m->waits;
        from = c->row;
        c->row += waits;
    }
    for (to = from; !waits && to < c->rows.n_rows; to++) {
        sf_trace_id id = c->rows.trace_id[to];
        const struct member *m;
        if (c->n_given && sf_trace_id_eq(c->last, id))
            continue;
        m = trace_search_find(c, id);
        if (m && m->waits)
            break;
        if (c->query.limit_traces && c->n_given == c->query.limit_traces) {
            c->has_ended = true;
            break;
        }
        c->n_given++;
        c->last = id;
    }
    if (waits || to == from)
        return false;
    c->row = to;
    *out = sf_span_rows_slice(&c->rows, from, to - from);
    for (size_t i = 0; i < c->query.n_want; i++) {
        c->want[i] = c->rows.want[i];
        c->want[i].code += from;
    }
    out->want = c->query.n_want ? c->want : out->want;
    return true;
}

static bool trace_search_step(struct cursor *c, struct sf_span_rows *out)
{
    while (!c->base.err && !c->has_ended) {
        if (c->inner && trace_search_give_rows(c, out))
            return true;
        c->rows.n_rows = c->row = 0;
        if (c->has_ended)
            break;
        if (c->inner && c->inner->next(c->inner, &c->rows))
            continue;
        c->rows.n_rows = 0;
        if (c->inner && c->inner->err) {
            c->base.err = c->inner->err;
            c->base.why = c->inner->why;
            break;
        }
        trace_search_drop_view(c);
        c->base.err = trace_search_read_chunk(c, &c->base.why);
    }
    return false;
}

static bool trace_search_cursor_next(struct sf_span_cursor *base, struct sf_span_rows *out)
{
    struct cursor *c = (struct cursor *)base;
    out->n_rows = 0;
    return trace_search_step(c, out);
}

static void trace_search_cursor_close(struct sf_span_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    if (!c)
        return;
    trace_search_drop_view(c);
    if (c->own)
        c->own->close(c->own);
    for (uint32_t i = 0; c->pages && i < c->source.n_shards; i++)
        sf_heap_free(c->pages[i].list);
    sf_heap_free(c->pages);
    sf_heap_free(c->waiting);
    sf_heap_free(c->seen);
    sf_heap_free(c->chunk);
    sf_heap_free(c->want);
    sf_table_done(&c->seen_at);
    sf_table_done(&c->chunk_at);
    sf_span_gather_done(&c->gather);
    sf_buf_done(&c->columns);
    sf_heap_free(c);
}

/* Each trace is in a granule of its own, so a search for few of them should read few. */
static uint32_t first_chunk(const struct sf_span_query *query)
{
    uint32_t n = query->n_expected;
    if (n == 0)
        return FIRST_CHUNK;
    n = n < MOST_FIRST_CHUNK ? n + n / 2 : MOST_FIRST_CHUNK; /* some are put off, or do not match */
    return n < LEAST_FIRST_CHUNK ? LEAST_FIRST_CHUNK : n < MOST_FIRST_CHUNK ? n : MOST_FIRST_CHUNK;
}

static enum sf_err open_own(struct cursor *c, struct sf_why *why)
{
    struct sf_span_query own = c->query;
    own.judge = NULL;
    own.has_whole_traces = true;
    own.columns = SF_COL_START;
    own.want_keys = NULL;
    own.n_want = 0;
    own.limit_traces = 0;
    return c->source.own_ops->span_scan(c->source.store, &own, c->q, &c->own, why);
}

enum sf_err sf_trace_search_open(const struct sf_remote_source *source,
                                 const struct sf_span_query *query, struct sf_query_ctx *q,
                                 struct sf_span_cursor **out, struct sf_why *why)
{
    struct cursor *c = sf_heap_new(sizeof(*c));
    enum sf_err err;
    if (!c)
        return sf_no_memory(why, "a search");
    c->base = (struct sf_span_cursor){.next = trace_search_cursor_next,
                                      .close = trace_search_cursor_close};
    c->source = *source;
    c->q = q;
    c->query = *query;
    c->is_newest = query->is_newest_first;
    c->chunk_max = first_chunk(query);
    c->pages = sf_heap_new_n(source->n_shards, sizeof(*c->pages));
    c->want = sf_heap_new_n(query->n_want + 1, sizeof(*c->want));
    err = c->pages && c->want ? sf_span_gather_init(&c->gather, &c->source, q, why)
                              : sf_no_memory(why, "a search");
    for (uint32_t i = 0; !err && i < source->n_shards; i++)
        c->pages[i].has_more = true;
    c->window = first_window(c);
    sf_span_gather_put_narrow(query, &c->columns);
    if (!err && !sf_buf_ok(&c->columns))
        err = sf_no_memory(why, "a question to ClickHouse");
    c->gather.columns = sf_buf_str(&c->columns);
    if (!err)
        err = open_own(c, why);
    if (err) {
        trace_search_cursor_close(&c->base);
        return err;
    }
    *out = &c->base;
    return SF_OK;
}
