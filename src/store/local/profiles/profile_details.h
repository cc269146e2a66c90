/* profile_details.h - the detail rows of a source that a query means. */
#pragma once
#include "store/local/profiles/profile_read.h"

struct sf_profile_want { /* of detail rows; see struct sf_detail_query */
    const sf_span_id *span_ids;
    size_t n_spans;
    const uint64_t *span_bits; /* one is set for each span's hash; NULL: not made */
    uint64_t bits_mask;        /* of hashes */
    const sf_trace_id *trace_ids;
    size_t n_traces;
    uint64_t process;
    bool has_untagged, has_trace_rows, is_tagged;
    int64_t from_ns, to_ns;
    enum sf_prof_select select;
    const bool *is_series; /* of the source: requested */
};

struct sf_profile_see {
    /* Before the first row of a source that may have one: most sources of a day know nothing of a
     * span, and their symbols, which are most of a block, need not be read. NOT_FOUND: no row of it
     * matters after all, and the next source is examined. */
    enum sf_err (*begin)(void *arg, struct sf_profile_walk *w, struct sf_profile_read_source *s,
                         const bool *is_series, struct sf_why *why);
    bool (*row)(void *arg, const struct sf_profile_detail *d); /* false: too many */
    void *arg;
    /* A granule whose rows are all meant, if they are of the series, at once; may be NULL. Those
     * without any of the nodes are left out: `is_node` is the list begin() made, if it did. */
    bool (*columns)(void *arg, const bool *is_series, const struct sf_profile_columns *c);
    /* Such a granule's sums by span over the nodes, where the block can tell them without its rows
     * and there is a list of nodes; may be NULL. */
    bool (*costs)(void *arg, const struct sf_profile_cost *costs, uint32_t n);
    const bool *const *is_node;
};

/* Shows each row; rows that an erasure hides are left out. `d->series` is a series of the source.
 */
enum sf_err sf_profile_details_each(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                    const struct sf_profile_want *want,
                                    const struct sf_profile_see *see, struct sf_why *why);
/* The same for a query, of the series it means. */
enum sf_err sf_profile_details_ask(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                   const struct sf_profile_select *select,
                                   const struct sf_detail_query *query,
                                   const struct sf_profile_see *see, struct sf_why *why);
/* The sources that may have such rows: those of the time and somewhat around it. */
void sf_profile_details_range(struct sf_profile_walk *w, int64_t from_ns, int64_t to_ns);
