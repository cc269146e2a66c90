/* long_traces.h - traces that last longer than the margin that a search adds to its range.
 *
 * A search finds a trace by a matching span in its range, or at most SF_LIMIT_SEARCH_SLACK_S
 * outside. If the pieces of a trace are in several runs and further apart than that, the matching
 * span may be anywhere. Such traces are few; the store has a list of them, and a search whose range
 * overlaps one of them reads it completely.
 *
 * Every run is compared once with all others, by their filters of trace ids: on the compact thread
 * when it was flushed or the store was opened, or by a query that comes before that. The output of
 * a merge of compared runs counts as compared. Thread-safe. */
#pragma once
#include "os/thread.h"
#include "store/store.h"

struct sf_local;
struct sf_snapshot;

struct sf_long_trace {
    sf_trace_id id;
    uint32_t tenant;
    /* Starts of its first and last span, as far as granule headers tell. */
    int64_t first_ns, last_ns;
    int64_t min_ns, max_ns; /* of its spans */
};

struct sf_long_traces {
    struct sf_mutex lock; /* guards all below; a leaf lock: `see` of each() takes none either */
    struct sf_long_trace *list; /* by tenant and id */
    size_t n;
    bool is_full;              /* there were more than fit */
    bool is_working;           /* one comparison at a time */
    struct sf_condvar is_idle; /* signalled when a comparison ends */
};

void sf_long_traces_init(struct sf_long_traces *s);
void sf_long_traces_done(struct sf_long_traces *s);

/* Compares all blocks that were not compared yet, some at a time, until none is left or the store
 * stops. */
enum sf_err sf_long_traces_compare(struct sf_local *l, struct sf_why *why);
/* For a query on this snapshot: the same for parts and blocks, unless it would take long; then they
 * are compared after the flush. *out_is_known: all runs of the snapshot are compared, and the list
 * is complete. */
enum sf_err sf_long_traces_for_query(struct sf_local *l, struct sf_snapshot *s,
                                     struct sf_query_ctx *q, bool *out_is_known,
                                     struct sf_why *why);
/* Calls `see` for each trace of the query's tenants that overlaps [from, to], with an upper bound
 * of its start. The list is locked during the calls. */
enum sf_err sf_long_traces_each(struct sf_local *l, const struct sf_snapshot *s,
                                struct sf_query_ctx *q, int64_t from_ns, int64_t to_ns,
                                enum sf_err (*see)(void *arg, const struct sf_long_trace *t,
                                                   int64_t start_ns, struct sf_why *why),
                                void *arg, struct sf_why *why);
