/* span_tree.h - the tree of spans, and the self time of each.
 *
 * Built once for the spans of one or several traces; everything in this module uses it. Parents are
 * found by trace and span id, cycles are cut, and spans whose parent is missing become roots: an
 * incomplete trace has several roots and needs no special handling.
 *
 * "Local" means in the same process. A local root is a span whose parent is in another process or
 * unknown: SDKs that tag samples once per request use its id. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/num.h"
#include "base/table.h"
#include "model/span.h"

#define SF_NOBODY UINT32_MAX

struct sf_span_place {    /* of one span */
    uint32_t parent;      /* or SF_NOBODY */
    uint32_t local_root;  /* itself when it is one */
    uint32_t depth;       /* below its local root */
    uint64_t process;     /* sf_process_hash; 0: unknown, different from all others */
    uint64_t thread;      /* 0: not given */
    uint64_t start_ns;    /* as sent */
    uint64_t end_ns;      /* never before the start */
    uint64_t self_ns;     /* time outside all local children */
    bool is_local_parent; /* has children in its process */
};

struct sf_span_tree {
    const struct sf_span *spans;
    const struct sf_span_place *places; /* one for each span */
    const uint32_t *children;           /* by start; run i is [first[i], first[i + 1]) */
    const uint32_t *first;              /* n_spans + 1 runs: the last holds the roots */
    struct sf_table at, any_at;         /* by trace and span id; by span id alone */
    uint32_t n_spans;
    /* By span: the shift to the clock of the first root. NULL: clocks agree, or were not compared
     * (link/clock_fix.h). */
    const int64_t *shifts_ns;
};

struct sf_span_origin { /* where the span ran, from its resource and attributes */
    uint64_t process, thread;
};

/* `origins` has one entry for each span, or is NULL: all in one process. LIMIT: the arena is full.
 */
enum sf_err sf_span_tree_build(const struct sf_span *spans, const struct sf_span_origin *origins,
                               uint32_t n_spans, struct sf_arena *req, struct sf_span_tree *out,
                               struct sf_why *why);

/* The first span with that id in that trace (a zero trace id: in any), or SF_NOBODY. */
uint32_t sf_span_tree_find(const struct sf_span_tree *t, sf_trace_id trace, sf_span_id id);
/* By span: its time outside all children, local and remote, on one clock. In `req`; NULL: it is
 * full. */
const uint64_t *sf_span_tree_own_ns(const struct sf_span_tree *t, struct sf_arena *req);
/* For each span: is it `above` or a descendant of it, through any process? One walk for all spans:
 * checking each separately takes quadratic time for a chain of parents. NULL: the arena is full. */
bool *sf_span_tree_mark_below(const struct sf_span_tree *t, uint32_t above, struct sf_arena *req);
static inline bool sf_span_tree_is_local(const struct sf_span_tree *t, uint32_t a, uint32_t b)
{
    return t->places[a].process != 0 && t->places[a].process == t->places[b].process;
}

/* The shift of a span's times to the clock of another span in the same tree. */
static inline int64_t sf_span_tree_shift_ns(const struct sf_span_tree *t, uint32_t span,
                                            uint32_t as_of)
{
    return t->shifts_ns ? t->shifts_ns[span] - t->shifts_ns[as_of] : 0;
}
/* A span's times on the clock of the first root. */
static inline uint64_t sf_span_tree_start_ns(const struct sf_span_tree *t, uint32_t span)
{
    return sf_shift_sat_u64(t->places[span].start_ns, t->shifts_ns ? t->shifts_ns[span] : 0);
}
static inline uint64_t sf_span_tree_end_ns(const struct sf_span_tree *t, uint32_t span)
{
    return sf_shift_sat_u64(t->places[span].end_ns, t->shifts_ns ? t->shifts_ns[span] : 0);
}
