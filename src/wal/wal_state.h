/* wal_state.h - internal state of the log, for the files of this module only. */
#pragma once
#include "wal/wal.h"
#include "wal/wal_slots.h"
#include "wal/wal_tail.h"

struct sf_wal_group; /* wal.c: where a group is put together */

struct sf_wal {
    struct sf_wal_config config;
    struct sf_wal_slots slots;
    struct sf_thread thread;

    /* The slots found at open, for replay. */
    struct sf_wal_found *found;
    size_t n_found;
    uint64_t pending_len;
    uint64_t n_missing; /* slots of wal.tail that do not exist or hold another segment */
    bool has_tail;      /* wal.tail exists and belongs to this store */

    /* Guards all fields up to the next comment. Taken under the lock of a memtable; a leaf lock.
     * Not held during disk writes or while an entry's `done` is called. */
    struct sf_mutex lock;
    struct sf_condvar wake, rolled;
    struct sf_wal_entry *in_head, *in_tail; /* appended, not yet taken by the committer */
    uint64_t next_lsn, synced_lsn, ckpt_lsn;
    uint64_t whole_lsn;              /* last piece of the last batch that is acknowledged */
    uint64_t followed_lsn;           /* UINT64_MAX: no follower */
    uint64_t queue_depth, queue_len; /* appended, not yet done */
    uint64_t n_rolls_wanted, n_rolls;
    bool is_ready, is_closing; /* replayed; no more appends */
    bool is_failed;
    enum sf_err fail_err;
    struct sf_why fail_why;
    uint64_t n_syncs, sync_ns_sum, sync_ns_max, sync_buckets[16], n_failures;

    /* Used by the committer thread only. Work list: entries taken from the queue, not
     * acknowledged. */
    struct sf_wal_entry *work_head, *work_tail;
    uint64_t at_lsn; /* next LSN to be written: last synced + 1 */
    struct sf_wal_slot *active;
    uint64_t active_off; /* 0: its header is not written yet */
    struct sf_wal_group *group;
    int64_t failed_since_ns;
    struct sf_wal_tail tail; /* before the committer starts: as found at open */
};

/* After replay: starts the committer; the first append gets `next_lsn`. */
enum sf_err sf_wal_begin(struct sf_wal *w, uint64_t next_lsn, struct sf_why *why);
void sf_wal_notice(struct sf_wal *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
