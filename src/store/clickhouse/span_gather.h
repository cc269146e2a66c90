/* span_gather.h - reads spans of all shards, to be added to a view (store/local/view.h).
 *
 * Two rounds of queries: the rows, and the resources and scopes that they refer to. The answer of a
 * shard is used completely or not at all. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "store/clickhouse/remote_source.h"
#include "store/clickhouse/span_answer.h"

struct sf_span_gather {
    const struct sf_remote_source *source;
    struct sf_query_ctx *q;
    struct sf_arena arena;
    struct sf_remote_query *queries;    /* rows, then entries; `found` borrows from their answers */
    const struct sf_query_ctx *tenants; /* has the tenants, as `q` unless set */
    sf_str columns; /* columns instead of sf_span_answer_columns, in the same form; empty: those */
    struct sf_span_answer found;
    bool is_cut; /* a shard had more rows than were requested */
};

enum sf_err sf_span_gather_init(struct sf_span_gather *g, const struct sf_remote_source *source,
                                struct sf_query_ctx *q, struct sf_why *why);
void sf_span_gather_done(struct sf_span_gather *g); /* a zeroed object is allowed */

/* Writes what to use as `columns` for the query; nothing if it may need whole spans. */
void sf_span_gather_put_narrow(const struct sf_span_query *query, struct sf_buf *out);
/* May the query read attributes, events or links of spans? */
bool sf_span_gather_needs_attrs(const struct sf_span_query *query);
/* Writes a condition for the spans of traces; `which` is one on tenants and trace ids. `starts`:
 * "(bucket, trace_id), ..." where such spans are known to be; empty: none. */
void sf_span_gather_put_traces(const struct sf_remote_source *source, sf_str which, sf_str starts,
                               struct sf_buf *sql);
/* Reads the rows of `spans` that satisfy `where` (which includes the tenants), at most `limit` per
 * shard (0: all). Replaces rows found before. */
enum sf_err sf_span_gather_read(struct sf_span_gather *g, sf_str where, uint64_t limit,
                                struct sf_why *why);
/* Likewise with a whole statement, which selects sf_span_answer_columns. */
enum sf_err sf_span_gather_ask(struct sf_span_gather *g, const struct sf_buf *sql, uint64_t limit,
                               struct sf_why *why);
/* Adds the rows that were found to the view. */
enum sf_err sf_span_gather_add(const struct sf_span_gather *g, struct sf_store *view,
                               struct sf_why *why);
/* Adds the remaining rows of a cursor of the local store to the view. `see` gets each; may be
 * NULL. */
enum sf_err sf_span_gather_own(struct sf_span_cursor *c, struct sf_store *view,
                               void (*see)(void *arg, sf_trace_id id, uint64_t start_ns), void *arg,
                               struct sf_why *why);
