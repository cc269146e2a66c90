/* traces.h - reads whole traces from the store: one, or many through one call. */
#pragma once
#include "exec/trace.h"
#include "store/store.h"

struct sf_traces {
    struct sf_store *store;
    struct sf_query_ctx *q;
    const struct sf_trace_ask *asks;
    size_t n_asks, n_done;
    bool is_bare;
    struct sf_span_cursor *cursor;
    struct sf_span_rows rows; /* with has_rows: rows of a later trace */
    bool has_rows;
};

/* `asks` and `q` are borrowed until done(). is_bare: only what the link needs: without events,
 * links, messages, and attributes that do not tell where the span ran (exec/span_pool.h). */
void sf_traces_start(struct sf_traces *t, struct sf_store *store, const struct sf_trace_ask *asks,
                     size_t n_asks, bool is_bare, struct sf_query_ctx *q);
/* The trace of asks[n_done], in `req`; call once for each ask. Without spans: OK with an empty
 * trace. After an error only done() may follow. */
enum sf_err sf_traces_next(struct sf_traces *t, struct sf_arena *req, struct sf_trace *out,
                           struct sf_why *why);
void sf_traces_done(struct sf_traces *t);

/* The result is in q->req. Without spans: OK with an empty trace. from = to = 0: everywhere;
 * otherwise a hint where to search, spans are not cut by it. */
enum sf_err sf_traces_get_one(struct sf_store *store, sf_trace_id id, int64_t from_ns,
                              int64_t to_ns, struct sf_query_ctx *q, struct sf_trace *out,
                              struct sf_why *why);

/* The same with only what the link needs: without events, links, messages, and attributes that do
 * not tell where the span ran (exec/span_pool.h). */
enum sf_err sf_traces_get_one_bare(struct sf_store *store, sf_trace_id id, int64_t from_ns,
                                   int64_t to_ns, struct sf_query_ctx *q, struct sf_trace *out,
                                   struct sf_why *why);
