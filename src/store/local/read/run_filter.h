/* run_filter.h - selects the runs of a snapshot and the granules of a run that a query has to
 * read. */
#pragma once
#include "block/span/span_block_reader.h"
#include "store/local/read/granules.h"

struct sf_run_filter {
    struct sf_query_ctx *q;
    int64_t from_ns, to_ns; /* 0 and 0: all time */
    const struct sf_cond *conds;
    size_t n_conds;
    bool is_all; /* all conditions must match; otherwise any */
};

bool sf_run_filter_overlaps(const struct sf_run_filter *l, int64_t min_ns, int64_t max_ns);
/* May the granule hold a row that satisfies the conditions? Ignores times and tenant. The memo
 * belongs to the reader. */
enum sf_err sf_run_filter_may_match(const struct sf_run_filter *l,
                                    const struct sf_span_block_reader *reader, uint32_t granule,
                                    struct sf_match_memo *memo, struct sf_arena scratch, bool *out,
                                    struct sf_why *why);
/* The same for all granules of a block, whose summary decides without its tables. *out_n: their
 * number if none may hold such a row of the tenants, else 0. */
enum sf_err sf_run_filter_rules_out(const struct sf_run_filter *l, struct sf_run *run,
                                    const uint32_t *tenants, size_t n_tenants,
                                    struct sf_arena scratch, uint32_t *out_n, struct sf_why *why);
/* Calls `see` for every selected run, with its index in the snapshot, the newest last or first,
 * until *out_is_done. A damaged run is left out and clears q->is_exact. */
typedef enum sf_err (*sf_run_filter_fn)(void *arg, size_t place, bool *out_is_done,
                                        struct sf_why *why);
enum sf_err sf_run_filter_each(const struct sf_run_filter *l, const struct sf_snapshot *s,
                               bool is_newest_first, sf_run_filter_fn see, void *arg,
                               struct sf_why *why);
