/* store.h - one place for spans and samples, whatever keeps them.
 *
 * Two stores implement this: "local", and "clickhouse", which stands on a local one, ships its log
 * to ClickHouse and reads both, but for pins, which it reads here. Every call
 * may come from any thread. What can fail returns enum sf_err, leaves `out` untouched and writes a
 * sentence into `why`. Reads see a snapshot: blocks and parts that exist when the call begins stay
 * readable until the cursor is closed. The store gets pushed-down conditions and may return a
 * superset; the layer above checks again exactly, so both stores give the same answers. */
#pragma once
#include <stdatomic.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/answer/remote_state.h"
#include "model/batch.h"
#include "model/keep_state.h"
#include "model/pin.h"
#include "model/pressure.h"
#include "model/retention.h"
#include "model/select.h"
#include "model/span_columns.h"
#include "model/span_rows.h"
#include "model/tree.h"
#include "model/unread.h"
#include "model/verdict.h"

struct sf_store; /* opaque; begins with a pointer to its operations */

/* ---- writing ---- */

/* Comes back when the batch is durable (SF_OK) or never will be. `done` runs on the log's thread:
 * it must neither block nor call the store; it hands the ticket to its owner. (A call instead of a
 * queue: the owners are event loops, which have their own way of being woken.) For a repeat of a
 * request that is durable already it runs inside append. */
struct sf_ticket {
    void (*done)(struct sf_ticket *t);
    enum sf_err result;
    struct sf_why why;
    uint64_t lsn; /* the store's own: the last record of the log that holds the batch; 0: it was
                   * there before */
};

/* ---- reading: the query ---- */

struct sf_scan_stats {
    uint64_t n_rows, n_blocks, n_skipped, read_len;
};

struct sf_query_ctx {
    const uint32_t *tenants; /* "a|b" reads: several tenants; at least one */
    size_t n_tenants;
    int64_t deadline_ns;        /* monotonic; past it DEADLINE; 0: none */
    int64_t begun_ns;           /* monotonic; what came later may be missing; 0: each call's own */
    const atomic_bool *cancel;  /* true: CANCELLED at the next granule; may be NULL */
    struct sf_arena *req;       /* results of non-cursor calls live here; its cap is LIMIT */
    struct sf_scan_stats stats; /* counted while reading */
    bool is_exact; /* of the last call: set false by thinning, rounding or a damaged block */
    struct sf_unread *unread; /* what all calls could not read, in copies of this, too; may be
                               * NULL */
    struct sf_naming *naming; /* frames that came without names; counted likewise, in copies of
                               * this, too; may be NULL */
    bool may_miss_far;        /* set by a scan with a judge: traces whose spans lie further apart
                               * than the scan looks are not all known yet */
};

struct sf_trace_ask { /* of several that are requested at once each id is there once */
    sf_trace_id id;
    int64_t from_ns, to_ns; /* where it is worth to look; both 0: everywhere */
};

struct sf_span_query {
    int64_t from_ns, to_ns; /* spans that OVERLAP [from, to], not only those that start there */
    uint64_t process;       /* sf_process_hash; 0 = any */
    const struct sf_cond *conds;
    size_t n_conds;
    bool is_all;           /* AND of conds; otherwise a trace matches if any does */
    bool has_whole_traces; /* deliver all spans of traces with a match, pieces of all blocks joined
                            * and duplicates removed */
    bool is_newest_first;  /* by trace start, ties by trace id; otherwise oldest first */
    uint32_t columns;      /* enum sf_column bits of what the caller will read */
    const struct sf_key *want_keys;
    size_t n_want;
    uint32_t limit_traces; /* 0 = all */
    /* Decides instead of `conds`, which then only say where it is worth to look; times are those of
     * traces. May be NULL. Must stay until the cursor is closed. */
    const struct sf_span_judge *judge;
};

struct sf_tag_query {
    enum sf_attr_scope scope;    /* ANY: all scopes */
    sf_str name;                 /* empty: attribute names; else the values of this one */
    const struct sf_cond *conds; /* only from spans that may match all of these */
    size_t n_conds;
    int64_t from_ns, to_ns;
    uint32_t limit;
    uint32_t enough; /* so many of the most frequent ones will do when that saves reading rows */
};

/* Which profiles and rows belong to [from, to). */
enum sf_prof_select {
    /* Those that start there: what tiles a range sums to it, in every call. Of slots of which only
     * the sum is left, those whose slot starts there. */
    SF_PROF_RANGE,
    /* Those whose [start, start + length] touches it: for the link, which takes a part of each. */
    SF_PROF_OVERLAP
};

struct sf_prof_query {
    sf_str type; /* five-part id; three-part ids match any period type; empty: any */
    const struct sf_matcher
        *match; /* all of them; labels named __type__ and so on are the type's */
    size_t n_match;
    int64_t from_ns, to_ns; /* 0 and 0: all */
    enum sf_prof_select select;
    int64_t grid_ns;  /* of points: steps are counted from here; 0: from `from_ns` */
    bool has_end;     /* of points: times count in whole milliseconds, and what comes after the last
                         whole step has a point at the end of the range; else it is in the last */
    uint64_t process; /* sf_process_hash: only its profiles; 0: of any */
    /* With ids: only the detail rows of these spans or traces, wherever they were sent from;
     * without: the aggregate, which has no profiles that were uploaded for single requests. */
    const sf_span_id *span_ids; /* sorted */
    size_t n_spans;
    const sf_trace_id *trace_ids; /* sorted */
    size_t n_traces;
    const sf_profile_id *profiles; /* optional: single profiles */
    size_t n_profiles;
    const struct sf_stack_filter *stacks; /* of merges and points: only these stacks; NULL: all */
};

struct sf_prof_list {               /* in q->req */
    const struct sf_series *series; /* distinct service, type and labels, sorted in this order;
                                     * `period` is that of one of its profiles */
    uint32_t n;
};

struct sf_prof_point {
    uint32_t group;
    /* The end of the step it is in, of the last that ends before `to_ns` at the latest; a single
     * profile's start without steps, */
    int64_t time_ns;
    int64_t duration_ns;  /* and its length; the longest of a step */
    uint64_t process;     /* and whose it is: sf_process_hash, 0: not given */
    uint8_t process_kind; /* enum sf_process_kind of its key */
    bool is_slot;         /* all there is left is the sum of the slot that begins here */
    int64_t value;
    uint64_t n_samples, n_profiles;
    sf_profile_id id; /* of the largest profile in the step, and */
    int64_t id_value; /* its own value */
    int64_t id_ns;    /* its time */
};

struct sf_prof_points { /* in q->req */
    struct sf_label_sets groups;
    const struct sf_prof_point *points; /* sorted by group and time */
    uint32_t n_points;
};

struct sf_prof_span { /* a span with samples, and whose they are */
    sf_span_id id;
    sf_str service;
};

struct sf_detail_query {
    sf_str type; /* as above */
    const struct sf_matcher *match;
    size_t n_match;
    const sf_span_id *span_ids; /* sorted; optional */
    size_t n_spans;
    const sf_trace_id *trace_ids; /* sorted; optional */
    size_t n_traces;
    uint64_t process;       /* sf_process_hash; 0 = any */
    bool has_untagged;      /* also rows of `process` without a span id */
    bool has_trace_rows;    /* also rows of the traces without a span id */
    bool is_tagged;         /* only rows with an id of their own */
    bool has_no_requests;   /* only of profiles that are in the aggregate */
    int64_t from_ns, to_ns; /* 0 and 0: all */
    enum sf_prof_select select;
};

struct sf_detail_list { /* in q->req; ordered by process, thread and start within a block */
    struct sf_detail_rows rows;
    struct sf_tree tree; /* what the rows' nodes mean; its values are the rows' sums */
    const struct sf_series *series;
    uint32_t n_series;
    /* All that is known of the threads of processes that have a row here; sorted by process and
     * thread, each once. */
    const struct sf_detail_thread *threads;
    uint32_t n_threads;
};

struct sf_span_total { /* what a span's rows come to */
    sf_span_id id;
    sf_trace_id trace; /* zero: no row says it */
    sf_str service;    /* whose profile it was */
    int64_t value;
    uint64_t n_samples;
    int64_t start_ns; /* of the first row */
    uint64_t thread;  /* of the last row that names one; 0: none does */
    /* The rows that name threads are of this many, or of fewer: one that returns after another
     * counts twice. 0: it is not known, since no row names one. */
    uint32_t n_threads;
};

/* No thread can have more than the span lasted. */
static inline int64_t sf_span_cost_most(int64_t value, uint32_t n_threads, uint64_t duration_ns)
{
    bool is_more = n_threads > 0 && (double)value > (double)duration_ns * n_threads;
    return is_more ? (int64_t)(duration_ns * n_threads) : value;
}

struct sf_span_costs { /* in q->req, in no order */
    const struct sf_span_total *list;
    uint32_t n;
    bool is_cut; /* there were more spans than a query may hold */
};

struct sf_span_top { /* in q->req, most expensive first */
    const struct sf_span_total *list;
    uint32_t n;
    uint64_t n_found; /* spans in all */
    int64_t value;    /* of all of them */
};

/* Is the function one that is searched for? Asked once for each name of a block. */
struct sf_frame_test {
    bool (*is_asked)(void *arg, sf_str function);
    void *arg;
};

/* ---- reading: cursors ----
 *
 * next() fills one batch of rows that borrow from the cursor until the following next() or
 * close(). It returns false at the end and at a fault; then `err` says which and `why` has the
 * sentence. One thread at a time. */
struct sf_span_cursor {
    bool (*next)(struct sf_span_cursor *c, struct sf_span_rows *out);
    void (*close)(struct sf_span_cursor *c);
    enum sf_err err;
    struct sf_why why;
    sf_trace_id failed; /* of traces_get, with err: the trace that could not be read; zero: all */
    /* A scan continues without the traces that are too large to be put together, and reports it. */
    uint64_t n_left_out;
    sf_trace_id left_out; /* the first of them */
    sf_trace_id cut;      /* with has_cut: rows of this one were given before it proved too large */
    bool has_cut;
};
/* Rows of whole granules, newest first; then those of traces that lie in several places, put
 * together. next() gives NULL at the end and at a fault. */
struct sf_column_cursor {
    struct sf_span_columns *(*next)(struct sf_column_cursor *c);
    void (*close)(struct sf_column_cursor *c);
    enum sf_err err;
    struct sf_why why;
    uint64_t n_left_out; /* traces of which rows are missing: too large to be put together */
    sf_trace_id left_out;
};
struct sf_str_cursor { /* sorted, without repeats */
    bool (*next)(struct sf_str_cursor *c, struct sf_value *out);
    void (*close)(struct sf_str_cursor *c);
    uint64_t n;    /* rows that have what next() just gave, as far as counted; copies count too */
    bool has_more; /* rarer ones were left out: `enough` */
    enum sf_err err;
    struct sf_why why;
};
struct sf_point_cursor { /* ordered by group and time */
    bool (*next)(struct sf_point_cursor *c, struct sf_point *out);
    void (*close)(struct sf_point_cursor *c);
    enum sf_err err;
    struct sf_why why;
};

/* ---- services: what GET /api/v1/services is made from ---- */

struct sf_operation_row {
    sf_str service, name;
    struct sf_call_count all;
    struct sf_call_count entries; /* of those, the spans by which requests enter the service */
};

struct sf_operation_rows {
    const struct sf_operation_row *rows; /* sorted by service and name */
    uint32_t n;
};

/* ---- keep by outcome ---- */

struct sf_keep_due { /* an hour of a tenant that is to be judged, and by which rules */
    uint32_t tenant;
    int64_t hour;
    uint64_t lsn; /* of the last record that is in blocks: goes into the verdict */
    uint32_t version;
    int64_t since_hour;
    struct sf_keep_rules rules;
    bool has_before; /* it was judged before; samples came in later */
    bool is_shared;  /* of all nodes' samples, in ClickHouse */
};

struct sf_keep_ask {
    sf_trace_id trace;
    int64_t start_ns, end_ns; /* of the span, or of all of them */
    sf_str service;           /* of the span; empty: of any */
};

/* ---- what the store says of itself ---- */

struct sf_store_state {
    enum sf_pressure pressure;
    bool is_degraded;
    char reason[224];  /* why writes are refused, or why the store is degraded; empty when well */
    uint64_t n_blocks; /* that hold what is kept */
    uint64_t kept_len; /* bytes of it, in blocks and in memory */
    uint64_t queue_depth;            /* batches that are not durable yet */
    uint64_t rows_len;               /* rows in memory that can still grow */
    uint64_t memory_len, memory_cap; /* all of it: held, and the most that may be */
    int64_t oldest_ns;               /* of what is in blocks; 0: there are none */
};

/* One number of a store's own, as /metrics shows it. */
struct sf_store_figure {
    const char *name, *help; /* of its family */
    bool is_counter;
    const char *label, *label_val; /* NULL: it has none */
    uint64_t val;
    /* A histogram instead: the upper bounds in seconds, how often each and above, and the sum. */
    const double *bounds;
    const uint64_t *buckets;
    size_t n_bounds;
    double sum_s;
};
typedef void (*sf_store_figure_fn)(void *arg, const struct sf_store_figure *figure);

/* ---- the table each store fills ---- */

struct sf_store_ops {
    const char *name; /* "local", "clickhouse" */

    void (*close)(struct sf_store *s); /* flushes; NULL is fine */

    /* `writer` is the calling ingest thread's number (< n_writers). Takes the batch: on OK `*give`
     * is NULL and the ticket comes back later. BUSY (queue full), FULL (disk) and LIMIT leave the
     * batch with the caller. Never waits for the disk. */
    enum sf_err (*append)(struct sf_store *s, unsigned writer, struct sf_batch **give,
                          struct sf_ticket *ticket, struct sf_why *why);
    /* `out_is_brief`: it is memory that is short, and work that continues frees some. */
    enum sf_pressure (*pressure)(struct sf_store *s, bool *out_is_brief);
    enum sf_err (*flush)(struct sf_store *s, struct sf_why *why); /* waits: parts to blocks */

    /* The number of a tenant's name; `can_create` makes one (durable before it returns), otherwise
     * NOT_FOUND. Tenant 1 is "single-tenant". */
    enum sf_err (*tenant)(struct sf_store *s, sf_str name, bool can_create, uint32_t *out,
                          struct sf_why *why);

    /* Names of the first `cap` tenants in the order they came, borrowed until close. Gives how many
     * there are. */
    size_t (*tenants)(struct sf_store *s, sf_str *out, size_t cap);

    /* All spans of traces that are acknowledged now: one trace after the other, in the order in
     * which they are requested, each batch of rows of one of them; none of a trace that is not
     * there. Duplicates removed, but for copies on other nodes that say more; by start, or by place
     * when that is mixed, or this node's before those of others. All columns. `q` stays
     * until the cursor is closed. At a fault `failed` is the trace that cannot be read, and those
     * before it are whole; after LIMIT a cursor of the asks after it continues. */
    enum sf_err (*traces_get)(struct sf_store *s, const struct sf_trace_ask *asks, size_t n_asks,
                              struct sf_query_ctx *q, struct sf_span_cursor **out,
                              struct sf_why *why);
    enum sf_err (*span_scan)(struct sf_store *s, const struct sf_span_query *query,
                             struct sf_query_ctx *q, struct sf_span_cursor **out,
                             struct sf_why *why);
    /* Every span once, in no order that matters, for callers that process spans one by one: columns
     * and want_keys list everything that may be requested, conds and the times limit the scan. May
     * be NULL: use span_scan. */
    enum sf_err (*span_columns)(struct sf_store *s, const struct sf_span_query *query,
                                struct sf_query_ctx *q, struct sf_column_cursor **out,
                                struct sf_why *why);
    /* UNSUPPORTED: compute it from span_scan. */
    enum sf_err (*span_series)(struct sf_store *s, const struct sf_span_query *query,
                               const struct sf_group *group, int64_t step_ns,
                               struct sf_query_ctx *q, struct sf_point_cursor **out,
                               struct sf_why *why);
    enum sf_err (*span_tags)(struct sf_store *s, const struct sf_tag_query *query,
                             struct sf_query_ctx *q, struct sf_str_cursor **out,
                             struct sf_why *why);
    /* Spans per service and operation that start in [from, to]; rounded to whole granules when
     * the sketches answer (q->is_exact then false). In q->req. */
    enum sf_err (*operations)(struct sf_store *s, int64_t from_ns, int64_t to_ns,
                              struct sf_query_ctx *q, struct sf_operation_rows *out,
                              struct sf_why *why);

    /* One tree; lives in q->req. */
    enum sf_err (*prof_merge)(struct sf_store *s, const struct sf_prof_query *query,
                              struct sf_query_ctx *q, const struct sf_tree **out,
                              struct sf_why *why);
    /* Sums of profiles per step and group of labels, without examining stacks. `step_ns` 0: every
     * profile is a point. Without group keys all is one group. */
    enum sf_err (*prof_points)(struct sf_store *s, const struct sf_prof_query *query,
                               const sf_str *keys, size_t n_keys, int64_t step_ns,
                               struct sf_query_ctx *q, struct sf_prof_points *out,
                               struct sf_why *why);
    /* The series that match: what types, label names and values are made from. */
    enum sf_err (*prof_list)(struct sf_store *s, const struct sf_prof_query *query,
                             struct sf_query_ctx *q, struct sf_prof_list *out, struct sf_why *why);
    /* Up to `cap` spans with samples whose ids lie in [low, high], each service's own; in q->req.
     */
    enum sf_err (*prof_spans)(struct sf_store *s, sf_span_id low, sf_span_id high, size_t cap,
                              struct sf_query_ctx *q, const struct sf_prof_span **out,
                              size_t *out_n, struct sf_why *why);
    /* Detail rows, what link and span flame graphs are made from. */
    enum sf_err (*detail_list)(struct sf_store *s, const struct sf_detail_query *query,
                               struct sf_query_ctx *q, struct sf_detail_list *out,
                               struct sf_why *why);

    /* Sums of detail rows by span: of those whose stack holds such a frame; `test` NULL: of all.
     * Rows without a span are left out, and none is kept: cost and memory are those of the spans.
     */
    enum sf_err (*detail_sums)(struct sf_store *s, const struct sf_detail_query *query,
                               const struct sf_frame_test *test, struct sf_query_ctx *q,
                               struct sf_span_costs *out, struct sf_why *why);

    /* The `limit` spans of those whose sums are largest, and how many there are: exact however many
     * that is. */
    enum sf_err (*detail_top)(struct sf_store *s, const struct sf_detail_query *query,
                              const struct sf_frame_test *test, uint32_t limit,
                              struct sf_query_ctx *q, struct sf_span_top *out, struct sf_why *why);

    /* Hides matching rows of one tenant at once (tombstone), rewrites blocks in the background. */
    enum sf_err (*erase)(struct sf_store *s, uint32_t tenant, const struct sf_selector *which,
                         struct sf_why *why);
    /* Keep by outcome: the next hour to be judged (rules in `req`), NOT_FOUND when there is none;
     * the verdict on one, durable when it returns; a verdict as it is (NOT_FOUND); and what became
     * of the samples of traces, one state for each. */
    enum sf_err (*keep_due)(struct sf_store *s, struct sf_arena *req, struct sf_keep_due *out,
                            struct sf_why *why);
    enum sf_err (*keep_put)(struct sf_store *s, const struct sf_verdict *v, struct sf_why *why);
    enum sf_err (*keep_get)(struct sf_store *s, uint32_t tenant, int64_t hour, struct sf_arena *req,
                            struct sf_verdict *out, struct sf_why *why);
    enum sf_err (*keep_states)(struct sf_store *s, const struct sf_keep_ask *asks, uint32_t n,
                               struct sf_query_ctx *q, struct sf_keep_state *out,
                               struct sf_why *why);
    /* Keeps a trace's spans and samples until the pin ends, whatever its outcome; a second pin
     * replaces the first. LIMIT: the tenant has too many. */
    enum sf_err (*pin)(struct sf_store *s, const struct sf_pin *pin, struct sf_why *why);
    enum sf_err (*unpin)(struct sf_store *s, uint32_t tenant, sf_trace_id id,
                         struct sf_why *why); /* NOT_FOUND */
    /* Those of the query's tenants that have not ended, in q->req, by their end. */
    enum sf_err (*pins)(struct sf_store *s, struct sf_query_ctx *q, const struct sf_pin **out,
                        uint32_t *out_n, struct sf_why *why);
    enum sf_err (*retain)(struct sf_store *s, const struct sf_retention *rule, struct sf_why *why);
    enum sf_err (*state)(struct sf_store *s, struct sf_store_state *out, struct sf_why *why);
    /* How far the data has reached a remote store; asks its shards. NULL: there is none. */
    enum sf_err (*remote_state)(struct sf_store *s, struct sf_query_ctx *q,
                                struct sf_remote_state *out, struct sf_why *why);
    /* Compares what this node has sent since `since_ns` (receipt) with what is there. NULL
     * likewise.
     */
    enum sf_err (*remote_check)(struct sf_store *s, int64_t since_ns, struct sf_query_ctx *q,
                                struct sf_remote_check *out, struct sf_why *why);
    /* Everything it counts of itself, for /metrics; figures of one family one after the other. */
    void (*figures)(struct sf_store *s, sf_store_figure_fn say, void *arg);
};

/* Every store's struct begins with this. */
struct sf_store {
    const struct sf_store_ops *ops;
};

/* traces_get of one trace. */
static inline enum sf_err sf_store_trace(struct sf_store *s, sf_trace_id id, struct sf_query_ctx *q,
                                         struct sf_span_cursor **out, struct sf_why *why)
{
    struct sf_trace_ask ask = {.id = id};
    return s->ops->traces_get(s, &ask, 1, q, out, why);
}
