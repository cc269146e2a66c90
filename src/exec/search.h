/* search.h - a TraceQL search over the store: newest traces first, each judged whole. */
#pragma once
#include "exec/eval.h"
#include "exec/trace_view.h"
#include "model/search.h"
#include "query/ast.h"
#include "store/store.h"

enum sf_search_go {
    SF_SEARCH_STOP,
    SF_SEARCH_ON,
    SF_SEARCH_COUNT /* tell first how many there are, then show this one again */
};

struct sf_trace_count { /* traces that match, or a few more */
    uint64_t n;
    uint64_t from_ns, to_ns; /* when the first and the last begin */
    bool is_close;           /* about so many match; otherwise at most */
};

struct sf_search {
    const struct sf_query *query; /* a metrics query is searched by its pipeline */
    int64_t from_ns, to_ns;       /* traces that overlap; 0 and 0: all time */
    uint32_t limit;               /* traces */
    uint32_t spans_per_set;
    struct sf_arena *scratch; /* for the trace in hand; reset for each */
    /* Takes the traces that match, whole and with their spans' attributes, instead of the answer's
     * list; `tmp` is for one of them. NULL: up to `limit` of them are listed. */
    enum sf_search_go (*on_match)(void *arg, const struct sf_trace_view *v,
                                  const struct sf_spansets *sets, struct sf_arena *tmp);
    void (*on_count)(void *arg, const struct sf_trace_count *count);
    /* Is a trace that begins then worth examining? A no may follow a yes, but not the other way
     * round. NULL: it is. */
    bool (*is_wanted)(void *arg, uint64_t start_ns);
    void *match_arg;
    /* Called between traces, and given the rows found so far when it returns true; rows never
     * change afterwards. NULL: no thread waits. */
    bool (*wants_progress)(void *arg);
    void (*on_progress)(void *arg, const struct sf_search_result *so_far);
    void *progress_arg;
};

/* Result in q->req. LIMIT: the query's memory is used up. A deadline that passes after something
 * was found is a partial answer, not an error; so is a result that outgrows q->req, and one without
 * a trace that does not fit the memory. */
enum sf_err sf_search_run(struct sf_store *store, const struct sf_search *search,
                          struct sf_query_ctx *q, struct sf_search_result *out, struct sf_why *why);
