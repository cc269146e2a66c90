/* local_config.h - the configuration of the embedded store. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "model/batch.h"
#include "model/beside_files.h"
#include "model/namer.h"
#include "model/retention.h"

struct sf_dir; /* os/dir.h */

/* For replay: decodes a logged body into a batch with rows. `app` sets it to a function that uses
 * decode and intake, which the store must not include. Receive time, version and rejected items
 * come from the record; quotas and the current time are not applied, so replay is deterministic. */
typedef enum sf_err (*sf_replay_fn)(void *arg, const struct sf_logged *rec, struct sf_batch **out,
                                    struct sf_why *why);

/* Settings for tests and benchmarks; only the first two are in the configuration file. 0: the
 * default, which is given for each. */
struct sf_local_tuning {
    int64_t flush_interval_ns; /* 60 s */
    uint64_t flush_wal_len;    /* 256 MB of log since the checkpoint */
    size_t flush_parts_len;    /* bytes of parts; 5/8 of their line */
    size_t flush_rows_len;     /* bytes of memtables and parts; 5/8 of their lines */
    size_t flush_profiles_len; /* bytes of profiles; 5/8 of their line */
    size_t memtable_len;       /* 8 MB, or less if the writers' shares of their line are smaller */
    int64_t seal_age_ns;       /* 1 s: rows older than this are sealed while searches run */
    int64_t seal_gap_ns;       /* 50 ms: memtables are sealed for scans at most this often */
    uint64_t
        /* 32 M rows that a query compares with others: store/local/read/long_traces.h. */
        compare_rows;
    size_t top_len;       /* memory for spans found in one pass: 64 MB, 4/3 of the queries' line */
    uint64_t segment_len; /* of the log */
    uint32_t compact_blocks; /* 8 level-0 blocks of an hour make a merge */
    uint32_t hurry_blocks, slow_blocks, refuse_blocks; /* numbers of level-0 blocks: 32, 64, 128 */
    int64_t closed_delay_ns; /* 10 min after its end an hour is merged, however few blocks it has */
    uint64_t block_rows;     /* 4M spans per block */
    uint32_t merge_rows;     /* rows held at once while merging; from the merge line */
    size_t granule_len;      /* 16 MB; a quarter of the merge line if that is less than 24 MB */
    uint32_t max_ops;        /* operations of a block; 4096, fewer with less memory than 256 MiB */
    uint32_t carry_rows;   /* 8192: merges copy granules with at least as many rows without decoding
                              them */
    int64_t orphan_age_ns; /* 24 h */
    bool has_no_threads;   /* flush and compaction only when called */
    int64_t (*wall_ns)(void); /* the clocks */
    int64_t (*mono_ns)(void);
};

struct sf_local_config {
    struct sf_dir *dir; /* borrowed until close */
    sf_replay_fn replay;
    void *replay_arg;
    size_t memory_len; /* the whole memory budget; the store uses its lines of it */
    struct sf_retention retention;
    unsigned n_writers; /* ingest threads: memtables */
    struct sf_local_tuning tuning;
    /* Called with progress while open() replays; may be NULL. */
    void (*progress)(void *arg, uint64_t done_len, uint64_t all_len);
    void *progress_arg;
    /* Reports something the operator must know ("store: quarantined block ..."); called on any
     * thread; may be NULL. */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
    /* Symbolizes code without names; borrowed until close. NULL: none. */
    struct sf_namer *namer;
    /* Changes the general retention into that of a tenant; without a name: into the longest ages of
     * any tenant. Called on any thread; must not call the store. May be NULL. */
    void (*tenant_rule)(void *arg, sf_str tenant, struct sf_tenant_rule *io);
    /* The same for a service: ages at which its data is deleted earlier than its tenant's, and its
     * size limit. False: it has no rule. `service_rules` returns a number that changes with the
     * rules; 0: there are none. */
    bool (*service_rule)(void *arg, sf_str tenant, sf_str service, struct sf_tenant_rule *out);
    uint64_t (*service_rules)(void *arg);
    void *tenant_rule_arg; /* argument of all three */
    /* A second reader follows the log and has processed records up to `followed_lsn`. A new one
     * begins with records that are not in blocks yet. */
    bool is_followed, is_follower_new;
    uint64_t followed_lsn;
    uint64_t history_lsn; /* records up to it were in blocks before the reader began; 0: unknown */
    struct sf_beside beside; /* files beside the store that share its limits; `trim` NULL: none */
};
