/* querier_dots.h - values of single profiles and spans, for heatmaps and exemplars. */
#pragma once
#include "serve/pyroscope/querier_work.h"

struct sf_querier_dot {
    uint32_t group;
    const struct sf_series *series; /* of a span: the series of its first sample */
    int64_t time_ns, slot_ns, value;
    sf_profile_id id; /* id of a profile; otherwise: */
    sf_span_id span;  /* for a span */
    sf_trace_id trace;
};

struct sf_querier_dot_list {
    struct sf_querier_dot *list;
    size_t n;
    struct sf_label_sets sets; /* labels of the groups */
};

/* The labels of a profile that grouping removed. */
struct sf_querier_owner {
    sf_profile_id id;
    uint32_t set;
};
struct sf_querier_owners {
    struct sf_querier_owner *list;
    uint32_t n;
    struct sf_label_sets sets;
};
/* Finds them for the largest profile of each step; step 0: for every profile. */
enum sf_err sf_querier_dots_owners_find(struct sf_querier_work *x, int64_t step_ns,
                                        struct sf_querier_owners *out);

/* One dot for each span and time, ordered by group and time, from the requested stacks. Samples
 * without an id are ignored. */
enum sf_err sf_querier_dots_find(struct sf_querier_work *x, struct sf_querier_dot_list *out);
/* End of the step that contains a time; points of a time series are placed there. */
int64_t sf_querier_dots_step_end(const struct sf_querier_work *x, int64_t time_ns, int64_t step_ns);
/* The span with the largest value in each step; groups are numbered as in `groups`. */
enum sf_err sf_querier_dots_of_steps(struct sf_querier_work *x, int64_t step_ns,
                                     const struct sf_label_sets *groups,
                                     struct sf_querier_dot_list *out);
/* The dot of one step; NULL: no span has samples there. */
const struct sf_querier_dot *sf_querier_dots_at(const struct sf_querier_dot_list *dots,
                                                uint32_t group, int64_t slot_ns);
/* Writes the dot as an exemplar, with the labels that grouping removed: those of a profile come
 * from `owners`, those of a span are the labels of its series without the keys that `ask` groups
 * by. */
void sf_querier_dots_write(struct sf_message *m, const struct sf_querier_dot *d,
                           const struct sf_querier_owners *owners,
                           const struct sf_querier_ask *ask);
