/* search.h - runs a TraceQL search over the store: newest traces first, each evaluated as a
 * whole. */
#pragma once
#include "exec/eval.h"
#include "exec/trace_view.h"
#include "model/search.h"
#include "query/ast.h"
#include "store/store.h"

enum sf_search_go {
    SF_SEARCH_STOP,
    SF_SEARCH_ON,
    SF_SEARCH_COUNT /* count the matching traces first, then pass this one again */
};

struct sf_trace_count { /* the number of matching traces, or slightly more */
    uint64_t n;
    uint64_t from_ns, to_ns; /* when the first and the last begin */
    bool is_close;           /* an estimate of the number; otherwise an upper bound */
};

struct sf_search {
    const struct sf_query *query; /* a metrics query is searched by its pipeline */
    int64_t from_ns, to_ns;       /* traces that overlap; 0 and 0: all time */
    uint32_t limit;               /* traces; with on_match only how many it will probably take */
    uint32_t spans_per_set;
    struct sf_arena *scratch; /* for the current trace; reset for each */
    /* Gets the matching traces, complete and with their spans' attributes, instead of the answer's
     * list; `tmp` is for one of them. NULL: up to `limit` of them are listed. */
    enum sf_search_go (*on_match)(void *arg, const struct sf_trace_view *v,
                                  const struct sf_spansets *sets, struct sf_arena *tmp);
    void (*on_count)(void *arg, const struct sf_trace_count *count);
    /* Is a trace that begins at that time needed? The answer for a time may change from true to
     * false, but not back. NULL: always. */
    bool (*is_wanted)(void *arg, uint64_t start_ns);
    void *match_arg;
    /* Called between traces. If it returns true, on_progress gets the rows found so far, which do
     * not change afterwards. NULL: no progress is sent. */
    bool (*wants_progress)(void *arg);
    void (*on_progress)(void *arg, const struct sf_search_result *so_far);
    void *progress_arg;
};

/* The result is in q->req. LIMIT: the query's memory is used up. If the deadline passes after
 * something was found, or the result exceeds q->req, or a trace does not fit the memory, the answer
 * is partial, without an error. */
enum sf_err sf_search_run(struct sf_store *store, const struct sf_search *search,
                          struct sf_query_ctx *q, struct sf_search_result *out, struct sf_why *why);
