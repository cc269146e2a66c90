/* local_stats.h - statistics of the embedded store. */
#pragma once
#include "model/pressure.h"

struct sf_local_stats {
    uint64_t n_spans_appended, n_batches_appended, n_duplicates; /* since start */
    uint64_t n_samples_appended, n_profiles_appended;            /* likewise */
    uint64_t profiles_len;                                       /* in memory, not yet in blocks */
    uint64_t block_samples;                                      /* in blocks */
    uint64_t wal_len, wal_synced_lsn, ckpt_lsn;
    uint64_t n_syncs, sync_ns_sum, sync_ns_max;
    /* Sync times up to 2^i * 62.5 us; the last bucket has no upper end. */
    uint64_t sync_buckets[16];
    uint64_t queue_depth; /* batches waiting for the log */
    uint64_t n_parts, parts_len, memtable_len;
    uint64_t n_blocks[4], blocks_len[4], block_rows[4]; /* by level */
    uint64_t n_quarantined, n_replayed, n_lost_lsn;
    uint64_t n_tombstones;
    /* Samples deleted by merges since start; current numbers of the others. */
    uint64_t n_thinned, n_verdicts, n_pins;
    uint64_t memory_len, memory_cap; /* the store's lines of the budget */
    uint64_t disk_free_len;
    int64_t oldest_ns, newest_ns; /* of the stored data; 0 when empty */
    enum sf_pressure pressure;
    char reason[224]; /* why writes are refused, or why the store is degraded; empty when well */
    bool is_degraded;
    bool is_log_missing; /* found at start; the number of lost records is unknown */
};
