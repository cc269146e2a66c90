/* profile_details.h - the detail rows of a source that a query selects. */
#pragma once
#include "store/local/profiles/profile_read.h"

struct sf_profile_want { /* which detail rows are requested; see struct sf_detail_query */
    const sf_span_id *span_ids;
    size_t n_spans;
    const uint64_t *span_bits; /* a bitmap with one bit set per span id's hash; NULL: not made */
    uint64_t bits_mask;        /* of hashes */
    const sf_trace_id *trace_ids;
    size_t n_traces;
    uint64_t process;
    bool has_untagged, has_trace_rows, is_tagged;
    int64_t from_ns, to_ns;
    enum sf_prof_select select;
    const bool *is_series; /* by series of the source: is it requested? */
};

struct sf_profile_see {
    /* Called before the first row of a source that may have matching rows: most sources of a day
     * have no row of a span, and their symbols, which are most of a block, need not be read.
     * NOT_FOUND: no row of this source matters; the next source is examined. */
    enum sf_err (*begin)(void *arg, struct sf_profile_walk *w, struct sf_profile_read_source *s,
                         const bool *is_series, struct sf_why *why);
    bool (*row)(void *arg, const struct sf_profile_detail *d); /* false: stop, there are too many */
    void *arg;
    /* Gets a granule at once if all its rows of the requested series match; may be NULL. Rows
     * without any of the nodes are left out: `is_node` is the list made by begin(), if any. */
    bool (*columns)(void *arg, const bool *is_series, const struct sf_profile_columns *c);
    /* Gets such a granule's sums by span over the nodes, if the block can tell them without its
     * rows and there is a list of nodes; may be NULL. */
    bool (*costs)(void *arg, const struct sf_profile_cost *costs, uint32_t n);
    const bool *const *is_node;
};

/* Calls `row` for each matching row; rows hidden by an erasure are left out. `d->series` is a
 * series of the source. */
enum sf_err sf_profile_details_each(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                    const struct sf_profile_want *want,
                                    const struct sf_profile_see *see, struct sf_why *why);
/* The same for a query, with the series it selects. */
enum sf_err sf_profile_details_ask(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                   const struct sf_profile_select *select,
                                   const struct sf_detail_query *query,
                                   const struct sf_profile_see *see, struct sf_why *why);
/* Selects the sources that may have such rows: those of the time range and somewhat around it. */
void sf_profile_details_range(struct sf_profile_walk *w, int64_t from_ns, int64_t to_ns);
