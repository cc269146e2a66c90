/* link_set.h - a trace and the samples its spans may claim, ready for the link.
 *
 * Three ways lead from a span to samples, tried in this order for each service: rows that carry
 * the ids of the trace or its spans; rows of the span's process without ids but with a time; the
 * service's aggregate around the span. The later ones are queried only if the earlier had nothing
 * for the requested span, since they also need the other requests of that process. */
#pragma once
#include "exec/traces.h"
#include "join/link_spans.h"
#include "join/span_set.h"
#include "link/attribution.h"
#include "link/clock_fix.h"
#include "model/tree.h"

struct sf_link_want {
    sf_span_id span; /* the one it is about; 0: all of the trace */
    sf_str type;     /* as people write it ("cpu", "inuse_space", a whole id); empty: CPU first */
    const struct sf_trace *whole; /* the trace, if it is there already; it must stay */
};

enum sf_link_source { /* where the samples came from */
                      SF_LINK_NOTHING,
                      SF_LINK_IDS,
                      SF_LINK_PROCESS,  /* timed rows without ids */
                      SF_LINK_AGGREGATE /* profiles without ids and times */
};

enum sf_left_out {                        /* samples without ids that threads could give */
                   SF_LEFT_OUT_MANY = 1,  /* too many, or of too many processes: none is given */
                   SF_LEFT_OUT_MIXED = 2, /* nothing says which of several processes they are of */
                   SF_LEFT_OUT_UNTIED = 4 /* of a trace: no thread ties them to a span of it; a span
                                             that is requested alone has them by time */
};

struct sf_link_set {
    const struct sf_span *spans; /* of the trace; then, with PROCESS and AGGREGATE, of others */
    const sf_str *services;      /* of each span */
    struct sf_span_tree tree;
    struct sf_local_index index;
    uint32_t n_own; /* spans of the trace itself; the rest are others of the process */
    uint32_t span;  /* place of the one it is about, or SF_NOBODY */
    struct sf_tree stacks;
    const struct sf_link_sample *samples;
    uint32_t n_samples;
    struct sf_profile_type type; /* chosen; empty when there is none */
    int64_t period;              /* of its series; 0: unknown */
    const sf_str *types;         /* whole ids of all types the services have then */
    uint32_t n_types;
    enum sf_link_source source;
    const uint64_t *exact_processes; /* sorted: their senders say that they tag every span */
    uint32_t n_exact;
    const struct sf_span_figures
        *figures; /* of each span of the trace; NULL: its attributes are there */
    const struct sf_span_thread *threads; /* of each span of the trace: what it says */
    uint32_t n_thread_ignored; /* spans whose threads and their samples' are numbered differently */
    uint64_t n_elsewhere; /* samples of the process meanwhile that name spans of other traces */
    uint32_t n_by_thread; /* samples beside named ones that only a thread can give to a span */
    int64_t window_from_ns, window_to_ns; /* AGGREGATE: what its profiles cover */
    struct sf_clock_fix clocks;           /* of one trace: the tree is on one clock */
    struct sf_keep_state keep;            /* of one trace: what became of its samples */
    bool is_thinned;                      /* they were removed, and none is left */
    bool is_covered;    /* of one span: its process sent profiles of the type at its time */
    bool is_of_others;  /* profiles name their processes as the span does, and not its own */
    bool is_by_service; /* processes of the two sides do not match: joined by service */
    bool is_partial;    /* the trace did not fit, or the other requests did not */
    uint8_t left_out;   /* bits of enum sf_left_out */
};

/* Lives in q->req. NOT_FOUND: no such trace or span; for a missing type, the message lists the
 * types there are. A span without any samples is OK with none. */
enum sf_err sf_link_set_load(struct sf_store *store, sf_trace_id trace,
                             const struct sf_link_want *want, struct sf_query_ctx *q,
                             struct sf_link_set *out, struct sf_why *why);

/* Which span claims which of its samples; for spans that are `wanted` (NULL: all). */
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
    const struct sf_link_keep *kept; /* of their traces, by the search that found them; or NULL */
    struct sf_arena *scratch;        /* for one trace at a time; reset */
    bool has_calls;                  /* with their children in other processes, and figures */
};

struct sf_link_gathered { /* what was read of them */
    struct sf_link_spans spans;
    const sf_trace_id *traces;
    uint32_t n_traces;
    uint32_t n_read; /* of the spans requested: the space was full */
    bool is_partial;
};

/* Reads what ran in the processes of the spans for the same requests (names and attributes left
 * out). In q->req. */
enum sf_err sf_link_set_gather(struct sf_store *store, const struct sf_link_many *many,
                               struct sf_query_ctx *q, struct sf_link_gathered *out,
                               struct sf_why *why);
/* Their samples of one type, with one search for all of them. In q->req; `g` must stay, and another
 * load may follow: spans have the same places in each. Asked for are samples that carry ids, and
 * those without that a thread gives to a span (join/link_meanwhile.h). */
enum sf_err sf_link_set_load_gathered(struct sf_store *store, struct sf_link_gathered *g,
                                      sf_str type, struct sf_query_ctx *q, struct sf_link_set *out,
                                      struct sf_why *why);
