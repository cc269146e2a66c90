/* merge.h - merges many runs into few blocks, for flush, compaction and erasure.
 *
 * Rows are split by the UTC day or hour of their index time; pieces of a trace are joined,
 * duplicate spans and rows hidden by a tombstone are dropped. Every output is written under tmp/,
 * synced and renamed into its day directory before the call returns; the caller commits it. Rows
 * are held in chunks that fit half of the merge line of the budget; the other half is for the list
 * of traces, so a compaction takes only as many inputs as their traces allow. */
#pragma once
#include "store/local/engine.h"

enum sf_merge_split {
    SF_SPLIT_DAY,       /* level 0: one block per day, several tenants */
    SF_SPLIT_HOUR,      /* level 1: one block (or more) per tenant and hour */
    SF_SPLIT_TENANT_DAY /* level 2, of profiles: one block (or more) per tenant and day */
};

enum sf_merge_details {                 /* which single samples of profiles are copied */
                        SF_DETAILS_ALL, /* all but those that a verdict removes */
                        SF_DETAILS_NONE,
                        SF_DETAILS_PINNED,      /* of pinned traces */
                        SF_DETAILS_PINNED_ALONE /* these and nothing else: no totals, no other
                                                   services */
};

struct sf_merge {
    struct sf_run *const *inputs; /* at most 65,535 */
    size_t n_inputs;
    const struct sf_tombstones *tombstones; /* may be NULL */
    enum sf_merge_split split;
    uint8_t level;
    uint64_t lsn_lo, lsn_hi;
    const uint64_t *dup_hashes;
    size_t n_dup_hashes;
    int64_t coarse_before_ns; /* profiles: of slots that end before then only sums are kept */
    enum sf_merge_details details;
    /* Spans: which traces are kept; NULL: all. */
    bool (*keeps)(void *arg, uint32_t tenant, sf_trace_id id);
    void *keeps_arg;
    bool has_sources; /* outputs list the inputs as replaced */
    /* Number of further siblings that the caller writes, with the following numbers. */
    uint16_t n_more;
};

struct sf_merge_result {
    struct sf_block_row *rows; /* one per output; sf_merge_result_done() frees */
    size_t n;
    uint64_t n_repeats, n_hidden;
    uint64_t next_id, flush_no; /* block and flush number of the first further sibling */
};

/* How many inputs, from the first on, one merge can take within its line of the budget; at least
 * one. */
size_t sf_merge_take(struct sf_local *l, struct sf_run *const *inputs, size_t n);
/* On failure no file is left behind. CORRUPT: an input is damaged and has been quarantined. */
enum sf_err sf_merge_run(struct sf_local *l, const struct sf_merge *merge,
                         struct sf_merge_result *out, struct sf_why *why);
void sf_merge_result_done(struct sf_merge_result *m);
/* Deletes outputs that will not be committed. */
void sf_merge_result_discard(struct sf_local *l, struct sf_merge_result *m);
