/* candidates.h - traces in which a search has found a match, in the order in which they are
 * returned: by start, newest or oldest first. For use by one thread. */
#pragma once
#include "base/table.h"
#include "block/span/span_block_reader.h"

struct sf_candidate_spot { /* where spans of a trace were found */
    struct sf_trace_place at;
    size_t run;     /* place in the snapshot */
    uint64_t trace; /* number in the run */
    bool is_known;  /* the trace begins and ends in that granule */
};

struct sf_candidate { /* a trace with a match */
    struct sf_candidate_spot spot;
    sf_trace_id id;
    uint32_t tenant;
    int64_t start_ns; /* start of the spans found so far; of the whole trace when is_exact */
    bool is_exact;
    uint32_t next; /* in the free list: index + 1 */
};

struct sf_candidates {
    bool is_newest_first;
    struct sf_candidate *list;
    uint32_t *heap; /* indexes in `list`, the first to return on top */
    uint32_t n;     /* of the heap */
    uint32_t n_list, cap, free_plus_1;
    struct sf_table at;
};

void sf_candidates_done(struct sf_candidates *c); /* a zeroed one is fine */
/* Adds a trace that was found with a span that starts at `start_ns`, unless it is there already.
 * LIMIT: too many; NOMEM. */
enum sf_err sf_candidates_add(struct sf_candidates *c, uint32_t tenant, sf_trace_id id,
                              int64_t start_ns, struct sf_candidate_spot spot, struct sf_why *why);
/* The first to return; there must be one. */
static inline struct sf_candidate *sf_candidates_first(const struct sf_candidates *c)
{
    return &c->list[c->heap[0]];
}
void sf_candidates_drop(struct sf_candidates *c);  /* the first one */
void sf_candidates_moved(struct sf_candidates *c); /* the start of the first one has changed */
void sf_candidates_sort(struct sf_candidates *c);  /* the starts of any have changed */
