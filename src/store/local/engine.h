/* engine.h - the state of the embedded store that its files share. Private to store/local. */
#pragma once
#include <stdatomic.h>

#include "os/dir.h"
#include "os/thread.h"
#include "store/local/budget.h"
#include "store/local/files/catalogue.h"
#include "store/local/keep/keep_book.h"
#include "store/local/local_config.h"
#include "store/local/read/doubles.h"
#include "store/local/read/long_traces.h"
#include "store/local/read/partials.h"
#include "store/local/run.h"
#include "store/local/snapshot.h"
#include "store/local/write/duplicates.h"
#include "store/local/write/memtable.h"
#include "store/local/write/uncommitted.h"
#include "store/store.h"

struct sf_wal;
struct sf_profile_mem;
struct sf_tenants;

struct sf_local {
    struct sf_store base;
    void *wrapper;                 /* state of a store that wraps this one; NULL: none */
    struct sf_local_config config; /* tuning with its defaults filled in */
    struct sf_local_tuning tune;
    struct sf_dir *dir;
    struct sf_file lock_file;
    uint8_t uuid[16];
    /* Blocks with records up to it are not merged with later ones; 0: any are. */
    atomic_uint_fast64_t history_lsn;
    struct sf_budget budget;
    struct sf_catalogue *catalogue;
    struct sf_wal *wal;
    struct sf_duplicates *duplicates;
    struct sf_tenants *tenants;
    struct sf_runs runs;
    struct sf_snapshots snapshots;
    struct sf_long_traces long_traces;
    struct sf_partials partials;
    struct sf_doubles doubles;
    struct sf_snapshots prof_snapshots; /* blocks of profiles; tombstones are in `snapshots` */

    /* The gate between appends and a switch of generations. Held shared while a batch gets its LSN
     * and its rows are stored (and while a memtable is sealed), and exclusively for the short time
     * in which the generation changes: so the flush gets every record up to the LSN read there.
     * Taken after flush_lock, before the locks of memtables and profiles. Shared holders do not
     * wait, since a pending switch keeps further appends out. */
    struct sf_rwlock gate;
    uint64_t gen; /* guarded by gate */
    struct sf_memtable *memtables;
    unsigned n_memtables;
    atomic_llong read_mono_ns; /* time of the last search; 0: never */

    /* Guards the two below, and keeps them consistent with prof_snapshots. Taken under the gate and
     * by a flush; before the locks of snapshots and runs. */
    struct sf_mutex prof_lock;
    /* Where profiles are added; changes only with the gate held exclusively. */
    struct sf_profile_mem *prof;
    /* List of those that a flush has taken and not yet written successfully. */
    struct sf_profile_mem *flushing;
    struct sf_profile_mem **lent; /* only in a view: memory of the store that it is a view of */
    size_t n_lent;

    /* Allows one flush at a time; guards flushed_mono_ns. Deliberately held during all file calls
     * of a flush. Taken after merge_lock (an erasure flushes) and before the gate. */
    struct sf_mutex flush_lock;
    /* Allows one merge, retention or erasure pass at a time; held throughout. Taken before all
     * other locks. */
    struct sf_mutex merge_lock;

    /* Allows one change of the tombstones at a time, and none while a merge commits. Taken after
     * merge_lock, never with flush_lock; before snapshots, catalogue, runs and number_lock. */
    struct sf_mutex erase_lock;
    int64_t erase_retry_ns; /* used by the compact thread only */
    uint64_t n_erasures_left;

    struct sf_uncommitted uncommitted;
    struct sf_keep_book keep;

    struct sf_mutex number_lock; /* guards the four below; a leaf lock */
    uint64_t next_block, next_flush;
    uint64_t ckpt_lsn;
    uint64_t log_sequence, log_lsn; /* as stored in the catalogue at start */
    bool is_log_missing;            /* that segment of the log is missing */
    uint64_t next_erasure;

    /* Guards the rules of retention and its clock; a leaf lock, taken by appends. */
    struct sf_mutex rule_lock;
    struct sf_retention retention;
    int64_t now_ns;       /* the current time that retention uses */
    int64_t now_mono_ns;  /* monotonic time at which now_ns was set */
    int64_t saved_now_ns; /* now_ns as stored in the catalogue */
    /* State of files that do not belong to the store, and when they were last examined; used by the
     * compact thread only. */
    struct sf_beside_state beside;
    int64_t beside_mono_ns;
    /* Version of the service rules that were last applied, and when; used by the compact thread. */
    uint64_t service_version;
    int64_t service_mono_ns;
    bool is_clock_ahead; /* retention by age is paused */
    /* Monotonic: since when span times agree with the wall clock; 0: they do not. */
    int64_t agree_ns;

    atomic_llong last_start_ns; /* start of the last received span; 0 once examined */

    /* Arenas for decoded granules. They are reused because faulting in their pages costs more than
     * the decoding. */
    struct sf_mutex pool_lock; /* guards the two below; a leaf lock */
    struct sf_arena pool[2];
    unsigned n_pool;

    struct sf_mutex state_lock; /* guards the reasons; a leaf lock */
    char refuse_reason[160], degraded_reason[224], merge_reason[160];
    atomic_int pressure; /* enum sf_pressure, without that of the log */
    atomic_bool is_flush_failing, is_disk_full;

    atomic_uint_fast64_t n_samples, n_profiles;
    atomic_size_t prof_len; /* bytes of profiles added since the last change of generations */
    atomic_uint_fast64_t n_spans, n_batches, n_duplicates, n_replayed, n_lost_lsn, n_repeats;
    atomic_uint_fast64_t disk_free_len,
        flush_wal_mark;      /* log bytes appended since the checkpoint */
    int64_t flushed_mono_ns; /* guarded by flush_lock */

    /* Threads. */
    struct sf_thread flush_thread, compact_thread, seal_thread;
    struct sf_mutex wake_lock; /* guards the ten below; a leaf lock */
    struct sf_condvar wake_flush, wake_compact, wake_seal, sealed;
    bool must_flush, must_compact;
    uint64_t n_seals_asked, n_seals_done;
    enum sf_err seal_err; /* of the last one */
    struct sf_why seal_why;
    /* Monotonic: rows received before are in the snapshot; 0: not known. */
    atomic_int_fast64_t shown_mono_ns;
    atomic_bool is_stopping;
};

void sf_local_init_locks(struct sf_local *l);
void sf_local_done_locks(struct sf_local *l);

static inline int64_t sf_local_wall_ns(const struct sf_local *l)
{
    return l->tune.wall_ns();
}
static inline int64_t sf_local_mono_ns(const struct sf_local *l)
{
    return l->tune.mono_ns();
}
void sf_local_notice(struct sf_local *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sf_local_wake_flush(struct sf_local *l);
void sf_local_wake_compact(struct sf_local *l);
int64_t sf_local_span_retention(struct sf_local *l);
int64_t sf_local_profile_retention(struct sf_local *l);

/* "spans/2026-11-15/00000000000000a1.sfs" and its parts; "prof/....sfp" of profiles. */
void sf_local_day_dir(uint8_t kind, int64_t day, char out[32]);
void sf_local_block_path(uint8_t kind, int64_t day, uint64_t id, char out[64]);
void sf_local_tmp_path(uint8_t kind, uint64_t id, char out[64]);
/* The snapshots for a kind of block: spans and profiles are never read together. */
static inline struct sf_snapshots *sf_local_snapshots(struct sf_local *l, uint8_t kind)
{
    return kind == SF_BLOCK_PROFILES ? &l->prof_snapshots : &l->snapshots;
}
int64_t sf_local_day_of(int64_t ns);
int64_t sf_local_hour_of(int64_t ns);
