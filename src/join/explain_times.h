/* explain_times.h - the time breakdowns of the spans of one trace, with the code in each part.
 *
 * link/ledger.h computes the breakdown of each span. For several spans, a weighted sum is used: for
 * a span with all its descendants, each counts with its time on the critical path
 * (link/critical_path.h), so that the sum is the duration. */
#pragma once
#include "join/link_set.h"
#include "join/runnable_sum.h"
#include "join/time_samples.h"
#include "link/hot_code.h"
#include "link/ledger_costs.h"
#include "model/answer/explain.h"

struct sf_part_seen { /* the evidence for a part */
    double sure_ns;   /* measured, carried by spans, or derived from child spans */
    double sampled_ns;
    double samples, timed, timed_squares; /* of profilers that sample time */
    double estimated_ns;                  /* from samples whose span is uncertain */
};

struct sf_span_times { /* of one span */
    bool is_there;
    uint8_t sources[SF_PARTS];
    /* A bit for each part that exists, and for each with evidence; the lists have entries only for
     * these, in order. A span has few parts, and a trace may have many spans. */
    uint16_t has_ns, has_seen;
    const uint64_t *ns;
    const struct sf_part_seen *seen;
    uint32_t first, n; /* costs */
};

struct sf_explain_times {
    struct sf_store *store;
    struct sf_query_ctx *q;
    struct sf_trace whole;
    struct sf_link_set *set; /* set of the first type: spans, tree, services */
    struct sf_tree_builder builder;
    struct sf_time_samples times;
    struct sf_tree stacks; /* joined over all types */
    struct sf_hot_code hot;
    struct sf_span_times *spans;  /* by place */
    struct sf_ledger_cost *costs; /* item: a node of the stacks, or n_nodes + index of a child */
    uint32_t n_costs, cap_costs;
    uint32_t n_kinds[SF_TIME_KINDS]; /* number of types of each kind */
    uint8_t left_out;                /* bits of enum sf_left_out */
};

struct sf_times_sum {
    double ns[SF_PARTS];
    struct sf_part_seen seen[SF_PARTS];
    uint16_t exact, estimate;     /* a bit for each part */
    double *nodes[SF_PART_CHILD]; /* by node of the stacks; NULL: none in that part */
    uint32_t n_spans;             /* number of spans in the sum */
    struct sf_runnable_sum runnable;
};

uint64_t sf_explain_times_ns(const struct sf_span_times *s, enum sf_ledger_part part);
double sf_explain_times_own(const struct sf_span_times *s); /* all time except waits for children */
/* NULL: there is no evidence for that part. */
const struct sf_part_seen *sf_explain_times_seen(const struct sf_span_times *s,
                                                 enum sf_ledger_part part);

/* Loads a span and all its descendants; span 0: the whole trace. The result is in q->req, until
 * sf_explain_times_done(). NOT_FOUND: no such trace or span. */
enum sf_err sf_explain_times_load(struct sf_explain_times *t, struct sf_store *store,
                                  sf_trace_id trace, sf_span_id span, struct sf_query_ctx *q,
                                  struct sf_why *why);
void sf_explain_times_done(struct sf_explain_times *t); /* a zeroed one is fine */

/* Adds a share of a span's own time; with `has_children`, also of its waits for children. */
enum sf_err sf_explain_times_sum_add(struct sf_times_sum *sum, const struct sf_explain_times *t,
                                     uint32_t span, double share, bool has_children,
                                     struct sf_why *why);
/* Code takes at most the time of its part: of spans that carry their CPU time, a few samples may
 * represent more of it than there is. */
void sf_explain_times_sum_fit(struct sf_times_sum *sum, const struct sf_explain_times *t);
/* Sums a span with all its descendants, along the critical path: the parts sum up to its duration,
 * with children resolved but for those that outlive it. SF_NOBODY: the whole trace. `out_path_ns`
 * (or NULL) gets the time of each span on the path. */
enum sf_err sf_explain_times_sum_path(struct sf_times_sum *sum, const struct sf_explain_times *t,
                                      uint32_t span, uint64_t *out_whole_ns,
                                      const uint64_t **out_path_ns, struct sf_why *why);
/* The effective number of equal samples. */
double sf_explain_parts_worth(const struct sf_part_seen *s);
/* The parts of a sum, largest first, in whole nanoseconds that sum up to `whole_ns`; with at most
 * `most` functions each. In q->req. */
enum sf_err sf_explain_parts_sum(const struct sf_times_sum *sum, const struct sf_explain_times *t,
                                 uint64_t whole_ns, uint32_t most, struct sf_explain_part **out,
                                 uint32_t *out_n, struct sf_why *why);
