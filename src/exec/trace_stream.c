#include "exec/trace_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/span_pool.h"

static const struct sf_scope no_scope;

static bool trace_stream_fetch(struct sf_trace_stream *s)
{
    if (s->is_done)
        return false;
    s->at = 0;
    s->has_rows = s->cursor->next(s->cursor, &s->rows);
    s->is_done = !s->has_rows;
    return s->has_rows;
}

static uint32_t run_end(const struct sf_trace_stream *s)
{
    uint32_t end = s->at;
    while (end < s->rows.n_rows && sf_trace_id_eq(s->rows.trace_id[end], s->rows.trace_id[s->at]))
        end++;
    return end;
}

static int compare_starts(const void *a, const void *b)
{
    const struct sf_span *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->span_id != y->span_id)
        return x->span_id < y->span_id ? -1 : 1;
    return (int)x->kind - (int)y->kind; /* a client and a server may share an id */
}

static void order(struct sf_span *spans, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        if (compare_starts(&spans[i - 1], &spans[i]) > 0) {
            qsort(spans, n, sizeof(*spans), compare_starts);
            return;
        }
    }
}

/* ---- a trace that lies in one batch ---- */

/* False: the trace is left out. */
static bool view_rows(struct sf_trace_stream *s, uint32_t end, struct sf_trace_view *v)
{
    uint32_t n = end - s->at;
    struct sf_span *spans = sf_arena_raw(s->req, n * sizeof(*spans), _Alignof(struct sf_span));
    if (!spans) {
        sf_trace_stream_leave_out(s, s->rows.trace_id[s->at]);
        s->at = end;
        return false;
    }
    for (uint32_t i = 0; i < n; i++)
        spans[i] = sf_span_rows_get(&s->rows, s->at + i);
    order(spans, n);
    *v = (struct sf_trace_view){.id = s->rows.trace_id[s->at],
                                .spans = spans,
                                .n_spans = n,
                                .resources = s->rows.resources,
                                .scopes = s->rows.scopes ? s->rows.scopes : &no_scope};
    s->at = end;
    return true;
}

/* ---- a trace that continues in the next batch ---- */

struct carry {
    struct sf_span_pool pool;
    struct sf_span *spans; /* in reverse order */
    uint32_t n;
};

static bool carry_rows(struct sf_trace_stream *s, struct carry *c, uint32_t end)
{
    sf_span_pool_next_rows(&c->pool);
    for (; s->at < end; s->at++) {
        struct sf_span *to = sf_arena_tail(s->req, sizeof(*to));
        if (!to || !sf_span_pool_add(&c->pool, &s->rows, s->at, to))
            return false;
        c->spans = to;
        c->n++;
    }
    return true;
}

/* False: the trace is left out, by the store or here; its rows are skipped. */
static bool carry_trace(struct sf_trace_stream *s, struct sf_trace_view *v)
{
    struct carry c = {0};
    sf_trace_id id = s->rows.trace_id[s->at];
    bool is_whole = true;
    sf_span_pool_init(&c.pool, s->req, false);
    for (;;) {
        uint32_t end = run_end(s);
        is_whole = is_whole && carry_rows(s, &c, end);
        s->at = end;
        if (s->at < s->rows.n_rows)
            break;
        do {
            if (!trace_stream_fetch(s))
                goto whole;
        } while (s->rows.n_rows == 0);
        if (!sf_trace_id_eq(s->rows.trace_id[0], id))
            break;
    }
whole:
    if (s->cursor->has_cut && sf_trace_id_eq(s->cursor->cut, id))
        return false;
    if (!is_whole) {
        sf_trace_stream_leave_out(s, id);
        return false;
    }
    order(c.spans, c.n);
    *v = (struct sf_trace_view){.id = id,
                                .spans = c.spans,
                                .n_spans = c.n,
                                .resources = c.pool.resources,
                                .scopes = c.pool.scopes};
    return true;
}

/* ---- what did not fit ---- */

void sf_trace_stream_leave_out(struct sf_trace_stream *s, sf_trace_id id)
{
    if (s->n_left_out++ == 0)
        s->left_out = id;
}

sf_str sf_trace_stream_left_out_note(uint64_t n, sf_trace_id id, struct sf_arena *req)
{
    char hex[33], text[160];
    sf_str out = SF_STR_NONE;
    if (n == 0)
        return out;
    sf_trace_id_render(id, hex);
    if (n == 1)
        snprintf(text, sizeof(text), "trace %s does not fit the query's memory and is left out",
                 hex);
    else
        snprintf(text, sizeof(text),
                 "%" PRIu64 " traces do not fit the query's memory and are left out, one is %s", n,
                 hex);
    if (!sf_arena_copy(req, sf_str_from(text), &out))
        out = SF_STR("traces that do not fit the query's memory are left out");
    return out;
}

sf_str sf_trace_stream_note(const struct sf_trace_stream *s, struct sf_arena *req)
{
    return sf_trace_stream_left_out_note(s->n_left_out + s->cursor->n_left_out,
                                         s->n_left_out ? s->left_out : s->cursor->left_out, req);
}

bool sf_trace_stream_next(struct sf_trace_stream *s, struct sf_trace_view *v, enum sf_err *out_err,
                          struct sf_why *why)
{
    uint32_t end;
    *out_err = SF_OK;
    do {
        sf_arena_reset(s->req);
        while (!s->has_rows || s->at >= s->rows.n_rows) {
            if (!trace_stream_fetch(s))
                goto over;
        }
        end = run_end(s);
    } while (!(end < s->rows.n_rows ? view_rows(s, end, v) : carry_trace(s, v)));
    if (s->cursor->err)
        goto over;
    s->n_traces++;
    s->n_spans += v->n_spans;
    sf_trace_view_init(v);
    return true;
over:
    *out_err = s->cursor->err;
    if (*out_err && why)
        *why = s->cursor->why;
    return false;
}
