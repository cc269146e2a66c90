/* link_set.h - a trace and the samples that its spans may claim, as input of the link.
 *
 * For each service there are three sources of samples, tried in this order: rows that carry the ids
 * of the trace or its spans; rows of the span's process without ids but with a time; the service's
 * aggregate around the span. The later ones are read only if the earlier had nothing for the
 * requested span, since they also need the other requests of that process. */
#pragma once
#include "exec/traces.h"
#include "join/link_spans.h"
#include "join/span_set.h"
#include "link/attribution.h"
#include "link/clock_fix.h"
#include "model/tree.h"

struct sf_link_want {
    sf_span_id span; /* the requested one; 0: all of the trace */
    sf_str type;     /* as written by users ("cpu", "inuse_space", a whole id); empty: CPU first */
    const struct sf_trace *whole; /* the trace, if it is already loaded; must stay valid */
    bool has_others; /* types of all services of the trace, not only of the span's service */
};

enum sf_link_source { /* where the samples came from */
                      SF_LINK_NOTHING,
                      SF_LINK_IDS,
                      SF_LINK_PROCESS,  /* timed rows without ids */
                      SF_LINK_AGGREGATE /* profiles without ids and times */
};

/* Why samples without ids were left out, although threads could attribute them. */
enum sf_left_out {
    SF_LEFT_OUT_MANY = 1,  /* too many, or of too many processes: none is used */
    SF_LEFT_OUT_MIXED = 2, /* it is unknown to which of several processes they belong */
    SF_LEFT_OUT_UNTIED = 4 /* with a trace: no thread ties them to a span of it; a span that is
                              requested alone gets them by time */
};

struct sf_link_set {
    /* Of the trace; then, with PROCESS and AGGREGATE, of other requests. */
    const struct sf_span *spans;
    const sf_str *services; /* of each span */
    struct sf_span_tree tree;
    struct sf_local_index index;
    uint32_t n_own; /* spans of the trace itself; the following ones are of other requests */
    uint32_t span;  /* index of the requested one, or SF_NOBODY */
    struct sf_tree stacks;
    const struct sf_link_sample *samples;
    uint32_t n_samples;
    struct sf_profile_type type; /* the chosen type; empty if there is none */
    int64_t period;              /* of its series; 0: unknown */
    const sf_str *types;         /* full ids of all types that the services have then */
    uint32_t n_types;
    enum sf_link_source source;
    /* Sorted: processes whose senders say that they tag every span. */
    const uint64_t *exact_processes;
    uint32_t n_exact;
    const struct sf_span_figures
        *figures; /* of each span of the trace; NULL: its attributes are there */
    const struct sf_span_thread *threads; /* by span of the trace: the thread it reports */
    /* Spans whose thread ids use another numbering than their samples'. */
    uint32_t n_thread_ignored;
    uint64_t n_elsewhere; /* samples of the process at that time that name spans of other traces */
    uint32_t n_by_thread; /* samples without ids, beside others with ids, that only a thread can
                             attribute */
    int64_t window_from_ns, window_to_ns; /* AGGREGATE: the time that its profiles cover */
    /* For one trace: correction of clock differences, applied to the tree. */
    struct sf_clock_fix clocks;
    struct sf_keep_state keep; /* for one trace: state of its samples (retention) */
    bool is_thinned;           /* its samples were deleted, and none is left */
    bool is_covered;           /* for one span: its process sent profiles of the type at its time */
    bool is_of_others;  /* profiles name other processes, in the same way as the span, but not its
                           own */
    bool is_by_service; /* processes of spans and profiles cannot be matched: joined by service */
    bool is_partial;    /* the trace or the other requests did not fit */
    uint8_t left_out;   /* bits of enum sf_left_out */
};

/* The result is in q->req. NOT_FOUND: no such trace or span; for a missing type, the message lists
 * the existing types. A span without any samples is OK. */
enum sf_err sf_link_set_load(struct sf_store *store, sf_trace_id trace,
                             const struct sf_link_want *want, struct sf_query_ctx *q,
                             struct sf_link_set *out, struct sf_why *why);

/* Determines which span claims which samples; for spans that are `wanted` (NULL: all). */
enum sf_err sf_link_set_attribute(struct sf_link_set *set, const bool *is_wanted,
                                  struct sf_arena *req, struct sf_attribution *out,
                                  struct sf_why *why);

/* Adds a sentence to *io when samples without ids were left out (bits of enum sf_left_out). False:
 * `req` is full. */
bool sf_link_set_say_left_out(unsigned left_out, struct sf_arena *req, sf_str *io);

struct sf_link_many {
    const struct sf_set_span *spans; /* sorted by trace */
    uint32_t n;
    sf_str type;                     /* as above */
    const struct sf_link_keep *kept; /* kept by the search that found them; or NULL */
    struct sf_arena *scratch;        /* for one trace at a time; is reset */
    bool has_calls;                  /* with their children in other processes, and figures */
};

struct sf_link_gathered { /* the spans that were read */
    struct sf_link_spans spans;
    const sf_trace_id *traces;
    uint32_t n_traces;
    uint32_t n_read; /* number of requested spans that were read; fewer if memory was full */
    bool is_partial;
    struct sf_link_set
        *loaded; /* their samples of some type, if they were loaded before; or NULL */
};

/* Reads the spans that ran in the processes of the given spans for the same requests (without names
 * and attributes). In q->req. */
enum sf_err sf_link_set_gather(struct sf_store *store, const struct sf_link_many *many,
                               struct sf_query_ctx *q, struct sf_link_gathered *out,
                               struct sf_why *why);
/* Loads their samples of one type, in one search for all of them. In q->req; `g` must stay valid,
 * and another load may follow: spans have the same indexes in each. Reads samples that carry ids,
 * and those without that a thread attributes to a span (join/link_meanwhile.h). */
enum sf_err sf_link_set_load_gathered(struct sf_store *store, struct sf_link_gathered *g,
                                      sf_str type, struct sf_query_ctx *q, struct sf_link_set *out,
                                      struct sf_why *why);
