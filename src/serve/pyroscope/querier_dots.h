/* querier_dots.h - what single profiles and spans come to, for heatmaps and exemplars. */
#pragma once
#include "serve/pyroscope/querier_work.h"

struct sf_querier_dot {
    uint32_t group;
    const struct sf_series *series; /* of a span: that of its first sample */
    int64_t time_ns, slot_ns, value;
    sf_profile_id id; /* of a profile, or */
    sf_span_id span;  /* of a span */
    sf_trace_id trace;
};

struct sf_querier_dot_list {
    struct sf_querier_dot *list;
    size_t n;
    struct sf_label_sets sets; /* what groups are */
};

/* Which labels each profile of a query has beyond those of its group. */
struct sf_querier_owner {
    sf_profile_id id;
    uint32_t set;
};
struct sf_querier_owners {
    struct sf_querier_owner *list;
    uint32_t n;
    struct sf_label_sets sets;
};
/* Of the largest profile of each step; step 0: of every profile. */
enum sf_err sf_querier_dots_owners_find(struct sf_querier_work *x, int64_t step_ns,
                                        struct sf_querier_owners *out);

/* One dot for each span and time, ordered by group and time: of the stacks that are requested.
 * Samples without an id are none. */
enum sf_err sf_querier_dots_find(struct sf_querier_work *x, struct sf_querier_dot_list *out);
/* Where the step ends that a time lies in, as points of a time series have it. */
int64_t sf_querier_dots_step_end(const struct sf_querier_work *x, int64_t time_ns, int64_t step_ns);
/* The span with the most in each step, in the numbering of `groups`. */
enum sf_err sf_querier_dots_of_steps(struct sf_querier_work *x, int64_t step_ns,
                                     const struct sf_label_sets *groups,
                                     struct sf_querier_dot_list *out);
/* That of one step; NULL: no span has samples there. */
const struct sf_querier_dot *sf_querier_dots_at(const struct sf_querier_dot_list *dots,
                                                uint32_t group, int64_t slot_ns);
/* As an element of a list of exemplars, with the labels that its group leaves out: a profile's are
 * those of `owners`, a span's those of its series without what `ask` groups by. */
void sf_querier_dots_write(struct sf_message *m, const struct sf_querier_dot *d,
                           const struct sf_querier_owners *owners,
                           const struct sf_querier_ask *ask);
