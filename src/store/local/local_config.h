/* local_config.h - what the embedded store is opened with. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "model/batch.h"
#include "model/beside_files.h"
#include "model/namer.h"
#include "model/retention.h"

struct sf_dir; /* os/dir.h */

/* Replay: a logged body back into a batch with rows. `app` points it at decode and intake; the
 * store knows neither. Receive time, version and rejected items come from the record; no quota and
 * no clock of today is applied, so replay is deterministic. */
typedef enum sf_err (*sf_replay_fn)(void *arg, const struct sf_logged *rec, struct sf_batch **out,
                                    struct sf_why *why);

/* Settings hardly anybody needs to touch: tests and benchmarks do; the first two are in the
 * configuration. 0 is the default everywhere. */
struct sf_local_tuning {
    int64_t flush_interval_ns; /* 60 s */
    uint64_t flush_wal_len;    /* 256 MB of log since the checkpoint */
    size_t flush_parts_len;    /* bytes of parts; 5/8 of their line */
    size_t flush_rows_len;     /* bytes of memtables and parts; 5/8 of their lines */
    size_t flush_profiles_len; /* bytes of profiles; 5/8 of their line */
    size_t memtable_len;       /* 8 MB, or the writers' shares of their line */
    int64_t seal_age_ns;       /* 1 s: rows older than this are sealed while searches run */
    int64_t seal_gap_ns;       /* 50 ms: memtables are sealed for scans at most this often */
    uint64_t
        compare_rows; /* 32 M rows a query compares with others: store/local/read/long_traces.h */
    size_t top_len;   /* 64 MB of spans found in one walk; 4/3 of the queries' line */
    uint64_t segment_len;    /* of the log */
    uint32_t compact_blocks; /* 8 level-0 blocks of an hour make a merge */
    uint32_t hurry_blocks, slow_blocks, refuse_blocks; /* 32, 64, 128 level-0 blocks */
    int64_t closed_delay_ns;  /* 10 min after its end an hour is merged whatever is there */
    uint64_t block_rows;      /* 4M spans a block */
    uint32_t merge_rows;      /* rows held at once while merging; from the merge line */
    uint32_t carry_rows;      /* 8192: granules of fewer rows are not merged as they are stored */
    int64_t orphan_age_ns;    /* 24 h */
    bool has_no_threads;      /* flush and compaction only when called */
    int64_t (*wall_ns)(void); /* the clocks */
    int64_t (*mono_ns)(void);
};

struct sf_local_config {
    struct sf_dir *dir; /* borrowed until close */
    sf_replay_fn replay;
    void *replay_arg;
    size_t memory_len; /* the whole budget; the store takes its lines of it */
    struct sf_retention retention;
    unsigned n_writers; /* ingest threads: memtables */
    struct sf_local_tuning tuning;
    /* Called with progress while open() replays; may be NULL. */
    void (*progress)(void *arg, uint64_t done_len, uint64_t all_len);
    void *progress_arg;
    /* Something the operator must know ("store: quarantined block ..."); any thread; may be NULL.
     */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
    /* Names for code that came without; borrowed until close. NULL: there are none. */
    struct sf_namer *namer;
    /* Changes what the retention says into what holds for a tenant; without a name: the longest
     * ages that hold for any. Any thread; must not call the store. May be NULL. */
    void (*tenant_rule)(void *arg, sf_str tenant, struct sf_tenant_rule *io);
    /* The same of a service: ages at which its data goes sooner than its tenant's, and its space.
     * False: it has no rule. `service_rules` is a number that changes with them; 0: there are none.
     */
    bool (*service_rule)(void *arg, sf_str tenant, sf_str service, struct sf_tenant_rule *out);
    uint64_t (*service_rules)(void *arg);
    void *tenant_rule_arg; /* of all three */
    /* Another reader follows the log and has processed records up to `followed_lsn`; 0: it begins
     * with records that are not in blocks yet. */
    bool is_followed;
    uint64_t followed_lsn;
    struct sf_beside beside; /* `trim` NULL: there are no such files */
};
