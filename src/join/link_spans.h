/* link_spans.h - the spans the link works on, with where each of them ran.
 *
 * Either all of one trace as they are, or of many traces only what a set of spans needs: those that
 * ran in the same process and request as one of the set, without names and attributes. Spans of
 * other processes change nothing there: what counts is the tree inside a process. */
#pragma once
#include "base/table.h"
#include "exec/traces.h"
#include "join/link_keep.h"
#include "join/span_set.h"
#include "link/span_tree.h"
#include "link/thread_table.h"

struct sf_link_alias { /* a name under which profiles may know a process */
    uint64_t name, process;
    uint8_t kind; /* enum sf_process_kind */
};

struct sf_link_spans {
    struct sf_arena *req;
    struct sf_span *spans;
    struct sf_span_origin *origins;  /* beside the spans; threads: when their samples are known */
    struct sf_span_thread *threads;  /* beside the spans: what they say */
    sf_str *services;                /* beside the spans */
    sf_span_id *profiles;            /* likewise: sf_profile_names_given */
    uint8_t *tags;                   /* likewise: enum sf_span_tags */
    struct sf_span_figures *figures; /* likewise; NULL: not needed */
    bool *is_call; /* likewise: a child in another process, whose samples are not requested; NULL:
                      none is */
    uint32_t n, cap;
    sf_str *names; /* the services, each once */
    uint32_t n_names, cap_names;
    uint64_t *processes; /* each once; sorted when all are there */
    uint32_t n_processes, cap_processes;
    struct sf_link_alias *aliases; /* sorted by name likewise; none of traces that were kept */
    uint32_t n_aliases, cap_aliases;
    struct sf_table name_at, process_at, alias_at; /* until they are sorted */
    int64_t from_ns, to_ns;                        /* of all of them together */
    struct sf_name_list callees; /* with_calls: names of children and of services elsewhere */
    bool is_by_service; /* some do not say which process they ran in: they represent the service */
};

/* Room for `cap` spans in `req`. False: it is full. */
bool sf_link_spans_init(struct sf_link_spans *l, uint32_t cap, struct sf_arena *req);
/* Before the first is added: of a set of spans their children in other processes are kept too, and
 * the names of children and the figures that spans carry. False: no space. */
bool sf_link_spans_with_calls(struct sf_link_spans *l);
/* Instead: all spans of the trace, borrowed from it; there is space for no others. False: `req` is
 * full. */
bool sf_link_spans_whole(struct sf_link_spans *l, const struct sf_trace *trace,
                         struct sf_arena *req);
/* A whole trace from the store, with parents resolved. In q->req. */
enum sf_err sf_link_spans_load(struct sf_store *store, sf_trace_id id, struct sf_query_ctx *q,
                               struct sf_trace *out_trace, struct sf_link_spans *out,
                               struct sf_span_tree *out_tree, struct sf_why *why);
/* The same of the next of several, in `req`. */
enum sf_err sf_link_spans_next(struct sf_traces *traces, struct sf_arena *req,
                               struct sf_trace *out_trace, struct sf_link_spans *out,
                               struct sf_span_tree *out_tree, struct sf_why *why);
/* What those of the set that are in this trace need; nothing is borrowed. `tmp` is used up a
 * little. False: no space, and none of them was added. */
bool sf_link_spans_add_asked(struct sf_link_spans *l, const struct sf_trace *trace,
                             const struct sf_set_span *asked, uint32_t n_asked,
                             struct sf_arena *tmp);
/* The same of a trace that a search has kept. False: no space, and none of them was added. */
bool sf_link_spans_add_kept(struct sf_link_spans *l, const struct sf_link_keep *keep,
                            const struct sf_kept_trace *trace, const struct sf_set_span *asked,
                            uint32_t n_asked, struct sf_arena *tmp);
/* When all are there: sorts. */
void sf_link_spans_end(struct sf_link_spans *l);
/* The process of the spans that a profile calls so; 0: none. */
uint64_t sf_link_spans_process(const struct sf_link_spans *l, uint64_t name);
/* The processes in which spans of the trace and service ran: up to `cap` of them. */
uint32_t sf_link_spans_of_trace(const struct sf_link_spans *l, sf_trace_id trace, sf_str service,
                                uint64_t *out, uint32_t cap);
bool sf_link_spans_has_service(const struct sf_link_spans *l, sf_str service);
