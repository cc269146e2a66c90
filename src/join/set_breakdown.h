/* set_breakdown.h - the time breakdown of each span of a set, by part and code.
 *
 * Like the time breakdown of one span (join/span_ledger.h), for many at once: from samples that
 * carry ids, from the spans' local and remote children, and from figures that spans carry
 * themselves. Samples whose span is an estimate are left out, since differences are concluded from
 * it; activity of a process without an id is not read: that time is unknown. */
#pragma once
#include "join/link_set.h"
#include "join/runnable_sum.h"
#include "link/ledger_costs.h"

enum sf_breakdown_by {                        /* to what a sample's time is assigned */
                       SF_BREAKDOWN_FUNCTION, /* its innermost function */
                       SF_BREAKDOWN_OWNER,    /* its innermost function of the service */
                       SF_BREAKDOWN_NODE      /* its stack: items are nodes of `stacks` */
};

struct sf_set_breakdown_cost {
    uint32_t span; /* index as given */
    uint32_t part; /* enum sf_ledger_part */
    uint32_t item;
    double ns;
};

struct sf_set_breakdown {
    struct sf_ledger_parts *parts; /* by span */
    uint16_t *estimates;           /* by span: a bit for each estimated part */
    /* Sorted by span; each part and item once; values as if nothing that was cut had been cut
     * (link/ledger_costs.h). */
    struct sf_set_breakdown_cost *costs;
    uint32_t n_costs, cap_costs;
    sf_str *items;            /* names of functions (nodes have none), then of children */
    uint32_t n_items, n_code; /* number of all items; number of functions or nodes */
    /* By span: index of its own name among the children's; SF_NOBODY: none. */
    const uint32_t *span_items;
    struct sf_runnable_sum runnable;
    double *remote_ns; /* by span: sum of the durations of children in other processes */
    /* By function: its line with the largest cost; NULL: no line has a cost. */
    const struct sf_frame **frames;
    struct sf_tree stacks;
    uint64_t part_samples[SF_PARTS];
    double
        part_taken[SF_PARTS]; /* the same in samples of the profiler: a row may represent several */
    /* Nanoseconds from such samples; from other sources. */
    double part_sampled[SF_PARTS], part_sure[SF_PARTS];
    uint32_t n_types;     /* number of types of profiles that measure time */
    bool has_waits;       /* some of them measure waits */
    uint64_t n_samples;   /* samples that were used */
    uint64_t n_estimated; /* samples that may belong to these spans, and were not used */
    uint8_t left_out;     /* bits of enum sf_left_out */
};

/* For the first g->n_read of `spans`; `g` was gathered with calls. The result is in q->req;
 * `scratch` is another arena. LIMIT: one of them is too small. */
enum sf_err sf_set_breakdown_make(struct sf_store *store, struct sf_link_gathered *g,
                                  const struct sf_set_span *spans, enum sf_breakdown_by by,
                                  struct sf_arena scratch, struct sf_query_ctx *q,
                                  struct sf_set_breakdown *out, struct sf_why *why);
