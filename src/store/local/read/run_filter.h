/* run_filter.h - where a query has to look: which runs of a snapshot, which granules of a run. */
#pragma once
#include "block/span/span_block_reader.h"
#include "store/local/read/granules.h"

struct sf_run_filter {
    struct sf_query_ctx *q;
    int64_t from_ns, to_ns; /* 0 and 0: all time */
    const struct sf_cond *conds;
    size_t n_conds;
    bool is_all; /* of the conditions; else any will do */
};

bool sf_run_filter_overlaps(const struct sf_run_filter *l, int64_t min_ns, int64_t max_ns);
/* Can the granule hold a row that satisfies the conditions? Times and tenant are not asked. The
 * memo is the reader's. */
enum sf_err sf_run_filter_may_match(const struct sf_run_filter *l,
                                    const struct sf_span_block_reader *reader, uint32_t granule,
                                    struct sf_match_memo *memo, struct sf_arena scratch, bool *out,
                                    struct sf_why *why);
/* Calls `see` for every run that is wanted, by its place in the snapshot, the newest last or first,
 * until it says *out_is_done. A run that proves damaged is left out, and q->is_exact false. */
typedef enum sf_err (*sf_run_filter_fn)(void *arg, size_t place, bool *out_is_done,
                                        struct sf_why *why);
enum sf_err sf_run_filter_each(const struct sf_run_filter *l, const struct sf_snapshot *s,
                               bool is_newest_first, sf_run_filter_fn see, void *arg,
                               struct sf_why *why);
