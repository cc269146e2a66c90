/* long_traces.h - traces that reach further than a search looks around its range.
 *
 * A search finds a trace by a span that matches and lies in its range, or no further outside than
 * SF_LIMIT_SEARCH_SLACK_S. Of a trace whose pieces lie in several runs and further apart than that,
 * the span that matches may be anywhere. Such traces are few; the store knows each of them, and a
 * search that one of them reaches into examines it whole.
 *
 * Every run is compared once with all others, by their filters of trace ids: when it is flushed or
 * the store was opened, on the compact thread; or by the first query that comes before that. What a
 * merge makes of compared runs is compared. Any thread. */
#pragma once
#include "os/thread.h"
#include "store/store.h"

struct sf_local;
struct sf_snapshot;

struct sf_long_trace {
    sf_trace_id id;
    uint32_t tenant;
    int64_t first_ns, last_ns; /* starts of its first and last span, as granules know them */
    int64_t min_ns, max_ns;    /* of its spans */
};

struct sf_long_traces {
    struct sf_mutex lock;       /* guards all below; takes nothing, nor does the `see` of each */
    struct sf_long_trace *list; /* by tenant and id */
    size_t n;
    bool is_full;              /* there were more than it holds */
    bool is_working;           /* one comparison at a time */
    struct sf_condvar is_idle; /* it is over */
};

void sf_long_traces_init(struct sf_long_traces *s);
void sf_long_traces_done(struct sf_long_traces *s);

/* Compares the runs that have not been compared yet: all blocks, some at a time, until none is left
 * or the store stops. */
enum sf_err sf_long_traces_compare(struct sf_local *l, struct sf_why *why);
/* For a query on this snapshot: the same for parts and blocks alike, unless it would take long;
 * then they wait for the flush. *out_is_known: all runs of the snapshot are compared, and none of
 * what was found had to be forgotten. */
enum sf_err sf_long_traces_for_query(struct sf_local *l, struct sf_snapshot *s,
                                     struct sf_query_ctx *q, bool *out_is_known,
                                     struct sf_why *why);
/* Calls `see` for each that reaches into [from, to] and belongs to the query's tenants, with an
 * upper bound of its start. The list is locked meanwhile. */
enum sf_err sf_long_traces_each(struct sf_local *l, const struct sf_snapshot *s,
                                struct sf_query_ctx *q, int64_t from_ns, int64_t to_ns,
                                enum sf_err (*see)(void *arg, const struct sf_long_trace *t,
                                                   int64_t start_ns, struct sf_why *why),
                                void *arg, struct sf_why *why);
