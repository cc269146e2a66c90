/* profile_details.h - the detail rows of a source that a query means. */
#pragma once
#include "store/local/profile_read.h"

struct sf_profile_want { /* of detail rows; see struct sf_detail_query */
    const sf_span_id *span_ids;
    size_t n_spans;
    const sf_trace_id *trace_ids;
    size_t n_traces;
    uint64_t process;
    bool has_untagged;
    int64_t from_ns, to_ns;
    const bool *is_series; /* of the source: asked for */
};

/* Calls `see` for each row; rows that an erasure hides are left out. `d->series` is a series of the
 * source. */
enum sf_err sf_profile_details_each(struct sf_profile_walk *w, struct sf_profile_source *s,
                                    const struct sf_profile_want *want,
                                    bool (*see)(void *arg, const struct sf_profile_detail *d),
                                    void *arg, struct sf_why *why);
