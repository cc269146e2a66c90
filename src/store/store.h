/* store.h - the interface of a store of spans and samples.
 *
 * Two stores implement it: "local", and "clickhouse", which wraps a local one, ships its log to
 * ClickHouse and reads both. Every call may come from any
 * thread. Calls that can fail return enum sf_err, leave `out` untouched and write a sentence into
 * `why`. Reads see a snapshot: blocks and parts that exist when the call begins stay readable until
 * the cursor is closed. The store gets pushed-down conditions and may return a superset; the layer
 * above evaluates them exactly, so both stores give the same answers. */
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

/* Completed when the batch is durable (SF_OK) or has failed. `done` runs on the log's thread: it
 * must neither block nor call the store; it passes the ticket to its owner. (A callback instead of
 * a queue, because the owners are event loops with their own way of being woken.) For a repeat of a
 * request that is already durable it runs inside append. */
struct sf_ticket {
    void (*done)(struct sf_ticket *t);
    enum sf_err result;
    struct sf_why why;
    uint64_t lsn; /* set by the store: the last log record of the batch; 0: it is a repeat */
};

/* ---- reading: the query ---- */

struct sf_scan_stats {
    uint64_t n_rows, n_blocks, n_skipped, read_len;
};

struct sf_query_ctx {
    const uint32_t *tenants; /* "a|b" reads: several tenants; at least one */
    size_t n_tenants;
    int64_t deadline_ns; /* monotonic; past it DEADLINE; 0: none */
    int64_t begun_ns; /* monotonic; data received later may be missing; 0: the start of each call */
    const atomic_bool *cancel;  /* true: CANCELLED at the next granule; may be NULL */
    struct sf_arena *req;       /* results of non-cursor calls live here; its cap is LIMIT */
    struct sf_scan_stats stats; /* counted while reading */
    bool is_exact; /* of the last call: false if thinning, rounding or a damaged block affects the
                      answer */
    /* What calls with this context, or copies of it, could not read; may be NULL. */
    struct sf_unread *unread;
    struct sf_naming *naming; /* frames without names, counted likewise; may be NULL */
    bool may_miss_far; /* set by a scan with a judge: the list of traces that last longer than the
                          scan's margin is not complete yet */
};

struct sf_trace_ask { /* a requested trace; each id at most once in a list */
    sf_trace_id id;
    int64_t from_ns, to_ns; /* where to search; both 0: everywhere */
};

struct sf_span_query {
    int64_t from_ns, to_ns; /* spans that OVERLAP [from, to], not only those that start there */
    uint64_t process;       /* sf_process_hash; 0 = any */
    const struct sf_cond *conds;
    size_t n_conds;
    bool is_all;           /* AND of conds; otherwise a trace matches if any does */
    bool has_whole_traces; /* return all spans of traces with a match, with pieces from all blocks
                              joined and duplicates removed */
    bool is_newest_first;  /* by trace start, ties by trace id; otherwise oldest first */
    uint32_t columns;      /* enum sf_column bits that the caller will read */
    const struct sf_key *want_keys;
    size_t n_want;
    uint32_t limit_traces; /* 0 = all */
    uint32_t n_expected;   /* traces that the caller will probably read; 0: unknown */
    /* Decides instead of `conds`, which then only restrict where to search; times are those of
     * traces. May be NULL. Must stay valid until the cursor is closed. */
    const struct sf_span_judge *judge;
    /* For span_columns: bytes that contain everything the caller's results depend on besides the
     * rows. The store may then return stored results of groups of rows (struct sf_column_group)
     * instead of the rows. Empty: only rows. */
    sf_bytes question;
    bool is_group_inside; /* a result is useful only if the group is completely in [from, to] */
    /* For span_columns: spans that the query cannot tell apart. A store that can count them where
     * they are returns one of each with its number (sf_span_columns.n_same), and every other span
     * (not yet shipped, stored twice, hidden by an erasure) as a row, so that each counts once. Any
     * store may ignore it. NULL: only rows. */
    const struct sf_span_grouping *grouping;
};

struct sf_tag_query {
    enum sf_attr_scope scope;    /* ANY: all scopes; INTRINSIC: `name` is "name", of spans */
    sf_str name;                 /* empty: attribute names; else the values of this one */
    const struct sf_cond *conds; /* only from spans that may match all of these */
    size_t n_conds;
    int64_t from_ns, to_ns;
    uint32_t limit;
    /* This many of the most frequent values are enough if that avoids reading rows. */
    uint32_t enough;
};

/* Which profiles and rows belong to [from, to). */
enum sf_prof_select {
    /* Those that start there: adjacent ranges sum up to the whole range, in every call. If only the
     * sum of a slot is left: those whose slot starts there. */
    SF_PROF_RANGE,
    /* Those whose [start, start + length] overlaps it: for the link, which prorates them. */
    SF_PROF_OVERLAP
};

struct sf_prof_query {
    sf_str type; /* five-part id; three-part ids match any period type; empty: any */
    const struct sf_matcher *match; /* all must match; labels such as __type__ refer to the type */
    size_t n_match;
    int64_t from_ns, to_ns; /* 0 and 0: all */
    enum sf_prof_select select;
    int64_t grid_ns; /* for points: steps are aligned to this time; 0: to `from_ns` */
    /* For points: times are whole milliseconds, and profiles after the last whole step get a
     * point at the end of the range; otherwise they count for the last step. */
    bool has_end;
    uint64_t process; /* sf_process_hash: only profiles of this process; 0: of any */
    /* With ids: only detail rows of these spans or traces, whichever process sent them; without:
     * the aggregate, which does not contain profiles uploaded for single requests. */
    const sf_span_id *span_ids; /* sorted */
    size_t n_spans;
    const sf_trace_id *trace_ids; /* sorted */
    size_t n_traces;
    const sf_profile_id *profiles; /* optional: single profiles */
    size_t n_profiles;
    const struct sf_stack_filter *stacks; /* for merges and points: only these stacks; NULL: all */
};

struct sf_prof_list {               /* in q->req */
    const struct sf_series *series; /* distinct service, type and labels, sorted in this order;
                                       `period` is that of one of the profiles */
    uint32_t n;
};

struct sf_prof_point {
    uint32_t group;
    /* The end of its step, at most that of the last step that ends before `to_ns`; without steps,
     * the start of the single profile. */
    int64_t time_ns;
    int64_t duration_ns;  /* its duration; with steps, the longest in the step */
    uint64_t process;     /* its process: sf_process_hash, 0: not given */
    uint8_t process_kind; /* enum sf_process_kind of its key */
    bool is_slot;         /* only the sum of the slot that begins here is left */
    int64_t value;
    uint64_t n_samples, n_profiles;
    sf_profile_id id; /* id of the largest profile in the step, */
    int64_t id_value; /* and its value */
    int64_t id_ns;    /* its time */
};

struct sf_prof_points { /* in q->req */
    struct sf_label_sets groups;
    const struct sf_prof_point *points; /* sorted by group and time */
    uint32_t n_points;
};

struct sf_prof_span { /* a span with samples, and the service they are from */
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
    struct sf_tree tree; /* the tree of the rows' nodes; its values are the sums of the rows */
    const struct sf_series *series;
    uint32_t n_series;
    /* All known threads of processes that have a row here; sorted by process and thread, without
     * duplicates. */
    const struct sf_detail_thread *threads;
    uint32_t n_threads;
};

struct sf_span_total { /* sums of the rows of a span */
    sf_span_id id;
    sf_trace_id trace; /* zero: no row has one */
    sf_str service;    /* the service of the profile */
    int64_t value;
    uint64_t n_samples;
    int64_t start_ns; /* of the first row */
    uint64_t thread;  /* of the last row that has one; 0: none has */
    /* Upper bound of the number of threads of the rows: a thread that returns after another one
     * counts twice. 0: unknown, since no row has a thread. */
    uint32_t n_threads;
};

/* A thread cannot use more time than the duration of the span. */
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

/* Is the function one of those searched for? Called once for each name of a block. */
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
    /* Of traces_get, after an error: the trace that could not be read; zero: all. */
    sf_trace_id failed;
    /* A scan continues without traces that are too large to be assembled, and counts them. */
    uint64_t n_left_out;
    sf_trace_id left_out; /* the first of them */
    sf_trace_id cut; /* with has_cut: rows of this trace were returned before it proved too large */
    bool has_cut;
};
/* Returns rows of whole granules, newest first; then those of traces that are in several runs,
 * assembled. next() returns NULL at the end and after an error. */
struct sf_column_cursor {
    struct sf_span_columns *(*next)(struct sf_column_cursor *c);
    void (*close)(struct sf_column_cursor *c);
    enum sf_err err;
    struct sf_why why;
    uint64_t n_left_out; /* traces with missing rows, because they are too large to be assembled */
    sf_trace_id left_out;
};
struct sf_str_cursor { /* sorted, without repeats */
    bool (*next)(struct sf_str_cursor *c, struct sf_value *out);
    void (*close)(struct sf_str_cursor *c);
    /* Rows with the value that next() just returned, as far as counted; copies count too. */
    uint64_t n;
    bool has_more; /* less frequent ones were left out: `enough` */
    enum sf_err err;
    struct sf_why why;
};

/* ---- services: what GET /api/v1/services is made from ---- */

struct sf_operation_row {
    sf_str service, name;
    struct sf_call_count all;
    struct sf_call_count entries; /* those of them by which requests enter the service */
};

struct sf_operation_rows {
    const struct sf_operation_row *rows; /* sorted by service and name */
    uint32_t n;
};

/* ---- keep by outcome ---- */

struct sf_keep_due { /* an hour of a tenant that is due to be judged, and its rules */
    uint32_t tenant;
    int64_t hour;
    uint64_t lsn; /* the last record that is in blocks: stored in the verdict */
    uint32_t version;
    int64_t since_hour;
    struct sf_keep_rules rules;
    bool has_before; /* it was judged before; further samples arrived later */
    bool is_shared;  /* samples of all nodes, in ClickHouse */
};

struct sf_keep_ask {
    sf_trace_id trace;
    int64_t start_ns, end_ns; /* of the span, or of all its spans */
    sf_str service;           /* of the span; empty: of any */
};

/* ---- what the store says of itself ---- */

struct sf_store_state {
    enum sf_pressure pressure;
    bool is_degraded;
    char reason[224];  /* why writes are refused, or why the store is degraded; empty when well */
    uint64_t n_blocks; /* number of blocks with retained data */
    uint64_t kept_len; /* bytes of retained data, in blocks and in memory */
    uint64_t queue_depth;            /* batches that are not durable yet */
    uint64_t rows_len;               /* bytes of rows in unsealed memtables */
    uint64_t memory_len, memory_cap; /* of the whole budget: used, and the limit */
    int64_t oldest_ns;               /* of the data in blocks; 0: none */
};

/* One statistic of the store, as shown by /metrics. */
struct sf_store_figure {
    const char *name, *help; /* of its family */
    bool is_counter;
    const char *label, *label_val; /* NULL: it has none */
    uint64_t val;
    /* For a histogram: upper bounds in seconds, counts (the last one above all bounds), and the
     * sum. */
    const double *bounds;
    const uint64_t *buckets;
    size_t n_bounds;
    double sum_s;
};
typedef void (*sf_store_figure_fn)(void *arg, const struct sf_store_figure *figure);

/* ---- the table each store fills ---- */

struct sf_shared_text { /* shared by all nodes: a pin, documents for collectors, alert state */
    sf_str kind, tenant, name;
    uint64_t version; /* 0: none */
    bool is_gone;     /* the text was removed */
    int64_t ends_ns;  /* wall clock: the text has no effect after this; 0: no end */
    sf_str body;
};

struct sf_store_ops {
    const char *name; /* "local", "clickhouse" */

    void (*close)(struct sf_store *s); /* flushes first; NULL is allowed */

    /* `writer` is the calling ingest thread's number (< n_writers). Takes the batch: on OK `*give`
     * is NULL and the ticket completes later. BUSY (queue full), FULL (disk) and LIMIT leave the
     * batch with the caller. Never waits for the disk. */
    enum sf_err (*append)(struct sf_store *s, unsigned writer, struct sf_batch **give,
                          struct sf_ticket *ticket, struct sf_why *why);
    /* `out_is_brief`: only memory is short, which work in progress will free. */
    enum sf_pressure (*pressure)(struct sf_store *s, bool *out_is_brief);
    /* Writes parts to blocks; waits until they are committed. */
    enum sf_err (*flush)(struct sf_store *s, struct sf_why *why);

    /* The number of a tenant's name; `can_create` creates it (durable before return), otherwise
     * NOT_FOUND. Tenant 1 is "single-tenant". */
    enum sf_err (*tenant)(struct sf_store *s, sf_str name, bool can_create, uint32_t *out,
                          struct sf_why *why);

    /* Names of the first `cap` tenants in the order of creation, borrowed until close. Returns how
     * many there are. */
    size_t (*tenants)(struct sf_store *s, sf_str *out, size_t cap);

    /* All acknowledged spans of traces: one trace after the other, in the order of `asks`; each
     * batch has rows of one trace; nothing for a trace that does not exist. Duplicates are removed,
     * except copies of other nodes that contain more. Rows are sorted by start, or by position if
     * that would be slow, or those of this node first. All columns. `q` must stay valid until the
     * cursor is closed. After an error, `failed` is the trace that cannot be read, and those before
     * it are complete; after LIMIT, a new cursor for the following asks continues. */
    enum sf_err (*traces_get)(struct sf_store *s, const struct sf_trace_ask *asks, size_t n_asks,
                              struct sf_query_ctx *q, struct sf_span_cursor **out,
                              struct sf_why *why);
    enum sf_err (*span_scan)(struct sf_store *s, const struct sf_span_query *query,
                             struct sf_query_ctx *q, struct sf_span_cursor **out,
                             struct sf_why *why);
    /* Every span once, in no particular order, for callers that process spans one by one: columns
     * and want_keys list everything that may be requested; conds and the times limit the scan. May
     * be NULL: use span_scan. */
    enum sf_err (*span_columns)(struct sf_store *s, const struct sf_span_query *query,
                                struct sf_query_ctx *q, struct sf_column_cursor **out,
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
    /* Sums of profiles per step and group of labels, without reading stacks. `step_ns` 0: every
     * profile is a point. Without group keys there is one group. */
    enum sf_err (*prof_points)(struct sf_store *s, const struct sf_prof_query *query,
                               const sf_str *keys, size_t n_keys, int64_t step_ns,
                               struct sf_query_ctx *q, struct sf_prof_points *out,
                               struct sf_why *why);
    /* The series that match, for lists of types, label names and values. */
    enum sf_err (*prof_list)(struct sf_store *s, const struct sf_prof_query *query,
                             struct sf_query_ctx *q, struct sf_prof_list *out, struct sf_why *why);
    /* Up to `cap` spans with samples whose ids are in [low, high], separately for each service; in
     * q->req. */
    enum sf_err (*prof_spans)(struct sf_store *s, sf_span_id low, sf_span_id high, size_t cap,
                              struct sf_query_ctx *q, const struct sf_prof_span **out,
                              size_t *out_n, struct sf_why *why);
    /* Detail rows, for the link and for span flame graphs. */
    enum sf_err (*detail_list)(struct sf_store *s, const struct sf_detail_query *query,
                               struct sf_query_ctx *q, struct sf_detail_list *out,
                               struct sf_why *why);

    /* Sums of detail rows by span, over rows whose stack has a matching frame; `test` NULL: over
     * all rows. Rows without a span are left out. Rows are not stored: cost and memory depend on
     * the number of spans. */
    enum sf_err (*detail_sums)(struct sf_store *s, const struct sf_detail_query *query,
                               const struct sf_frame_test *test, struct sf_query_ctx *q,
                               struct sf_span_costs *out, struct sf_why *why);

    /* The `limit` spans with the largest sums, and the number of all spans; exact for any
     * number. */
    enum sf_err (*detail_top)(struct sf_store *s, const struct sf_detail_query *query,
                              const struct sf_frame_test *test, uint32_t limit,
                              struct sf_query_ctx *q, struct sf_span_top *out, struct sf_why *why);

    /* Hides matching rows of one tenant at once (tombstone), rewrites blocks in the background. */
    enum sf_err (*erase)(struct sf_store *s, uint32_t tenant, const struct sf_selector *which,
                         struct sf_why *why);
    /* Retention by outcome: the next hour to be judged (rules in `req`), NOT_FOUND when there is
     * none; storing a verdict, durable on return; reading a verdict (NOT_FOUND); and the state of
     * the samples of traces, one for each. */
    enum sf_err (*keep_due)(struct sf_store *s, struct sf_arena *req, struct sf_keep_due *out,
                            struct sf_why *why);
    enum sf_err (*keep_put)(struct sf_store *s, const struct sf_verdict *v, struct sf_why *why);
    enum sf_err (*keep_get)(struct sf_store *s, uint32_t tenant, int64_t hour, struct sf_arena *req,
                            struct sf_verdict *out, struct sf_why *why);
    enum sf_err (*keep_states)(struct sf_store *s, const struct sf_keep_ask *asks, uint32_t n,
                               struct sf_query_ctx *q, struct sf_keep_state *out,
                               struct sf_why *why);
    /* Keeps a trace's spans and samples until the pin ends, whatever its outcome; a second pin
     * replaces the first. LIMIT: the tenant has too many pins. */
    enum sf_err (*pin)(struct sf_store *s, const struct sf_pin *pin, struct sf_why *why);
    enum sf_err (*unpin)(struct sf_store *s, uint32_t tenant, sf_trace_id id,
                         struct sf_why *why); /* NOT_FOUND */
    /* The pins of the query's tenants that have not ended, in q->req, sorted by end. */
    enum sf_err (*pins)(struct sf_store *s, struct sf_query_ctx *q, const struct sf_pin **out,
                        uint32_t *out_n, struct sf_why *why);
    /* Small texts that all nodes of a fleet share. All three calls are NULL without a fleet. A get
     * reads the newest version, with its body in q->req; version 0: the text does not exist. A put
     * replaces text->version; BUSY: another node replaced it first. */
    enum sf_err (*shared_get)(struct sf_store *s, struct sf_query_ctx *q, struct sf_shared_text *io,
                              struct sf_why *why);
    enum sf_err (*shared_put)(struct sf_store *s, const struct sf_shared_text *text,
                              struct sf_why *why);
    /* Requests or renews a lease. True in `out`: this node holds it for `ttl_ns` from now. */
    enum sf_err (*shared_lease)(struct sf_store *s, const char *name, int64_t ttl_ns, bool *out,
                                struct sf_why *why);
    enum sf_err (*retain)(struct sf_store *s, const struct sf_retention *rule, struct sf_why *why);
    enum sf_err (*state)(struct sf_store *s, struct sf_store_state *out, struct sf_why *why);
    /* How much of the data has reached a remote store; queries its shards. NULL: there is none. */
    enum sf_err (*remote_state)(struct sf_store *s, struct sf_query_ctx *q,
                                struct sf_remote_state *out, struct sf_why *why);
    /* Compares what this node has sent since `since_ns` (time of receipt) with the remote store's
     * rows. NULL likewise. */
    enum sf_err (*remote_check)(struct sf_store *s, int64_t since_ns, struct sf_query_ctx *q,
                                struct sf_remote_check *out, struct sf_why *why);
    /* Begins to move the data that was there before this node shipped to the remote store at `to`,
     * if that was not begun before; empty: only asks. BUSY: try again. NULL likewise. */
    enum sf_err (*remote_move)(struct sf_store *s, sf_str to, struct sf_move_counts *out,
                               struct sf_why *why);
    /* Reports all statistics, for /metrics; those of one family are consecutive. */
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
