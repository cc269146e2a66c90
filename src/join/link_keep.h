/* link_keep.h - keeps what the link needs of the traces that a search finds.
 *
 * A search assembles every trace it finds. Reading one again by its id would cost more than the
 * search, so the process, time and parent of its spans are kept. Space is limited; traces beyond
 * it, very large ones and those whose spans share ids are not kept, and are read again when
 * needed. */
#pragma once
#include "exec/trace_view.h"
#include "join/name_list.h"
#include "join/span_figures.h"
#include "link/thread_table.h"

struct sf_kept_span {
    sf_span_id id, parent_id;
    uint64_t start_ns, end_ns;
    uint64_t process; /* sf_process_hash */
    struct sf_span_thread thread;
    sf_span_id profile;   /* the id that the span gives its profile (sf_profile_names_given) */
    uint8_t tags;         /* enum sf_span_tags */
    uint8_t kind;         /* enum sf_span_kind */
    bool is_error;        /* its status is error */
    sf_str service, name; /* the name is empty if there are too many different ones */
};

/* The data that the link needs of a span; strings are borrowed from the span. */
struct sf_kept_span sf_link_keep_span_of(const struct sf_span *s, const struct sf_resource *r,
                                         uint64_t process);

struct sf_kept_trace {
    sf_trace_id id;
    uint64_t start_ns;
    uint32_t first, n;  /* of the spans */
    bool is_by_service; /* the process of one of its spans is unknown */
};

struct sf_link_keep {
    struct sf_arena *req;
    struct sf_kept_trace *traces; /* sorted by sf_link_keep_end() */
    uint32_t n_traces, cap_traces;
    struct sf_kept_span *spans;
    struct sf_span_figures *figures; /* parallel to the spans; NULL: not needed */
    uint32_t n, cap;
    struct sf_name_list names;
};

/* Reserves space for this many traces and the usual number of spans, in `req`. False: it is
 * full. */
bool sf_link_keep_init(struct sf_link_keep *k, uint32_t cap_traces, struct sf_arena *req);
/* Call before the first trace: also keeps the figures that spans carry. False: no space. */
bool sf_link_keep_figures(struct sf_link_keep *k);
/* Keeps the trace if it fits. Its times, parents, kinds, resources and attributes must be loaded;
 * uses a little of `tmp`. */
void sf_link_keep_add(struct sf_link_keep *k, const struct sf_trace_view *v, struct sf_arena *tmp);
/* Drops traces from the `first`-th on that begin at a time that is not needed any more; call before
 * sf_link_keep_end(). */
void sf_link_keep_sift(struct sf_link_keep *k, uint32_t first,
                       bool (*is_wanted)(void *arg, uint64_t start_ns), void *arg);
/* Call when all traces were added. */
void sf_link_keep_end(struct sf_link_keep *k);
/* NULL: it was not kept. `k` may be NULL. The result is valid as long as `k`. */
const struct sf_kept_trace *sf_link_keep_find(const struct sf_link_keep *k, sf_trace_id id);
