/* set_breakdown.h - where the time of each span of a set went, part by part and by what code.
 *
 * As the ledger of one span (join/span_ledger.h), for many at once: from samples that carry ids,
 * from the spans' children here and elsewhere, and from figures that spans carry themselves.
 * Samples that are estimates of their span are left out, since differences are concluded from it;
 * what a process did meanwhile without an id is not requested: that time is unknown. */
#pragma once
#include "join/link_set.h"
#include "link/ledger_costs.h"

enum sf_breakdown_by {                        /* what a sample's time is filed under */
                       SF_BREAKDOWN_FUNCTION, /* its innermost function */
                       SF_BREAKDOWN_OWNER,    /* its innermost function of the service */
                       SF_BREAKDOWN_NODE      /* its stack: items are nodes of `stacks` */
};

struct sf_set_breakdown_cost {
    uint32_t span; /* as they were given */
    uint32_t part; /* enum sf_ledger_part */
    uint32_t item;
    double ns;
};

struct sf_set_breakdown {
    struct sf_ledger_parts *parts;       /* by span */
    uint16_t *estimates;                 /* by span: a bit for each part that is an estimate */
    struct sf_set_breakdown_cost *costs; /* by span; part and item once for each; as if all
                                            that was cut had room (link/ledger_costs.h) */
    uint32_t n_costs, cap_costs;
    sf_str *items;            /* functions or nodes, then children: their names (nodes have none) */
    uint32_t n_items, n_code; /* all; of functions or nodes */
    const uint32_t *span_items; /* by span: its own name among the children's; SF_NOBODY: none */
    double *remote_ns; /* by span: how long children in other processes ran, one after another */
    const struct sf_frame **frames; /* by function: its line that cost most; NULL: none has any */
    struct sf_tree stacks;
    uint64_t part_samples[SF_PARTS];
    double
        part_taken[SF_PARTS]; /* the same as samples of the profiler, which a row may be many of */
    double part_sampled[SF_PARTS], part_sure[SF_PARTS]; /* nanoseconds: from such; otherwise */
    uint32_t n_types;                                   /* of profiles that tell time */
    bool has_waits;                                     /* some of them tell waits of any kind */
    uint64_t n_samples;                                 /* that are in it */
    uint64_t n_estimated; /* that may be of these spans, and are not in it */
    uint8_t left_out;     /* bits of enum sf_left_out */
};

/* Of the first g->n_read of `spans`; `g` was gathered with calls. All of it in q->req; `scratch` is
 * another arena. LIMIT: one of them is too small. */
enum sf_err sf_set_breakdown_make(struct sf_store *store, struct sf_link_gathered *g,
                                  const struct sf_set_span *spans, enum sf_breakdown_by by,
                                  struct sf_arena scratch, struct sf_query_ctx *q,
                                  struct sf_set_breakdown *out, struct sf_why *why);
