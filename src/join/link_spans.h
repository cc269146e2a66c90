/* link_spans.h - the spans that the link works on, and where each of them ran.
 *
 * Either all spans of one trace, or of many traces only those that a set of spans needs: spans that
 * ran in the same process and request as one of the set, without names and attributes. Spans of
 * other processes do not matter there: only the tree inside a process does. */
#pragma once
#include "base/table.h"
#include "exec/traces.h"
#include "join/link_keep.h"
#include "join/span_set.h"
#include "link/span_tree.h"
#include "link/thread_table.h"

struct sf_link_alias { /* a name that profiles may use for a process */
    uint64_t name, process;
    uint8_t kind; /* enum sf_process_kind */
};

struct sf_link_spans {
    struct sf_arena *req;
    struct sf_span *spans;
    /* Parallel to the spans; threads are set when their samples are known. */
    struct sf_span_origin *origins;
    struct sf_span_thread *threads;  /* parallel to the spans: the threads they report */
    sf_str *services;                /* parallel to the spans */
    sf_span_id *profiles;            /* likewise: sf_profile_names_given */
    uint8_t *tags;                   /* likewise: enum sf_span_tags */
    struct sf_span_figures *figures; /* likewise; NULL: not needed */
    bool *is_call; /* likewise: a child in another process, whose samples are not read; NULL: there
                      are none */
    uint32_t n, cap;
    sf_str *names; /* distinct services */
    uint32_t n_names, cap_names;
    uint64_t *processes; /* distinct; sorted by sf_link_spans_end() */
    uint32_t n_processes, cap_processes;
    struct sf_link_alias *aliases; /* sorted by name likewise; none for traces that were kept */
    uint32_t n_aliases, cap_aliases;
    struct sf_table name_at, process_at, alias_at; /* used until the lists are sorted */
    int64_t from_ns, to_ns;                        /* time range of all spans */
    struct sf_name_list callees; /* with_calls: names of children and of their services */
    bool is_by_service;          /* the process of some is unknown: the service stands for it */
};

/* Reserves space for `cap` spans in `req`. False: it is full. */
bool sf_link_spans_init(struct sf_link_spans *l, uint32_t cap, struct sf_arena *req);
/* Call before the first span is added: also keeps children in other processes, the names of
 * children and the figures that spans carry. False: no space. */
bool sf_link_spans_with_calls(struct sf_link_spans *l);
/* Instead of adding: uses all spans of the trace, borrowed from it. False: `req` is full. */
bool sf_link_spans_whole(struct sf_link_spans *l, const struct sf_trace *trace,
                         struct sf_arena *req);
/* Loads a whole trace from the store, with parents resolved. In q->req. */
enum sf_err sf_link_spans_load(struct sf_store *store, sf_trace_id id, struct sf_query_ctx *q,
                               struct sf_trace *out_trace, struct sf_link_spans *out,
                               struct sf_span_tree *out_tree, struct sf_why *why);
/* Loads the next of several traces, in `req`. */
enum sf_err sf_link_spans_next(struct sf_traces *traces, struct sf_arena *req,
                               struct sf_trace *out_trace, struct sf_link_spans *out,
                               struct sf_span_tree *out_tree, struct sf_why *why);
/* Adds the spans that the requested ones of this trace need; nothing is borrowed. Uses a little of
 * `tmp`. False: no space, and none of them was added. */
bool sf_link_spans_add_asked(struct sf_link_spans *l, const struct sf_trace *trace,
                             const struct sf_set_span *asked, uint32_t n_asked,
                             struct sf_arena *tmp);
/* The same for a trace that a search has kept. False: no space, and none of them was added. */
bool sf_link_spans_add_kept(struct sf_link_spans *l, const struct sf_link_keep *keep,
                            const struct sf_kept_trace *trace, const struct sf_set_span *asked,
                            uint32_t n_asked, struct sf_arena *tmp);
/* Call when all were added: sorts. */
void sf_link_spans_end(struct sf_link_spans *l);
/* The process of the spans for which profiles use this name; 0: none. */
uint64_t sf_link_spans_process(const struct sf_link_spans *l, uint64_t name);
/* The processes in which spans of the trace and service ran: at most `cap`. */
uint32_t sf_link_spans_of_trace(const struct sf_link_spans *l, sf_trace_id trace, sf_str service,
                                uint64_t *out, uint32_t cap);
bool sf_link_spans_has_service(const struct sf_link_spans *l, sf_str service);
