/* wal.h - the write-ahead log: makes batches durable, and reads them back after a crash.
 *
 * The log is a set of fixed-size slots, recycled in place (docs/storage.md). One committer thread
 * writes many batches per sync; a batch is acknowledged only after its sync. */
#pragma once
#include "base/err.h"
#include "model/batch.h"

struct sf_dir;
struct sf_wal;

/* What the catalogue stores about the log: the newest segment. Without it, losing the slots and
 * wal.tail together would look like a log that never existed. */
struct sf_wal_known {
    uint64_t ckpt_lsn;  /* records up to here are in blocks */
    uint64_t sequence;  /* of that segment; 0: not known */
    uint64_t first_lsn; /* the first LSN of that segment */
};

struct sf_wal_config {
    struct sf_dir *dir; /* the data directory; the log lives in its wal/ */
    uint8_t store_uuid[16];
    uint64_t ckpt_lsn; /* records up to here are in blocks: replay ignores them, and their slots are
                          free */
    struct sf_wal_known known; /* its ckpt_lsn is unused */
    /* There is a second reader (wal/wal_follow.h), which has processed records up to
     * `followed_lsn`. Slots with later records are kept, even if all their records are in
     * blocks. */
    bool is_followed;
    uint64_t followed_lsn;
    /* Called on the committer thread before the first record of a new segment is acknowledged, when
     * wal.tail already has it; may be NULL. */
    void (*begin)(void *arg, uint64_t sequence, uint64_t first_lsn);
    uint64_t segment_len; /* 0: SF_LIMIT_SEGMENT_LEN; tests use less */
    size_t queue_len;     /* bytes that may wait for the disk, above which append returns BUSY; 0:
                             SF_LIMIT_BODIES_LEN */
    /* Reports a fault, or its end, to the operator; called on the committer thread or by replay;
     * may be NULL. */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg; /* argument of `notice` and `begin` */
};

/* One append. The caller owns the entry and everything it points to, and must keep them unchanged
 * until `done` is called. */
struct sf_wal_entry {
    const struct sf_logged *const *pieces; /* logged together, replayed all or none */
    size_t n_pieces;
    void (*done)(
        struct sf_wal_entry *e); /* on the committer thread, after the sync (or final failure) */
    enum sf_err result;
    struct sf_why why;
    uint64_t lsn;              /* of the first piece; set by append */
    struct sf_wal_entry *next; /* used by the log */
};

/* sync_buckets[i] counts syncs that took at most this << i ns; the last bucket all longer ones. */
#define SF_WAL_SYNC_BUCKET_NS 62500

struct sf_wal_stats {
    uint64_t len; /* of all slots on disk */
    uint64_t synced_lsn, n_segments, n_free_segments;
    uint64_t n_syncs, sync_ns_sum, sync_ns_max, sync_buckets[16];
    uint64_t queue_depth, queue_len;
    uint64_t n_failures; /* writes or syncs that failed */
    bool is_failed;      /* writes are refused right now */
    char reason[160];
};

/* Opens the log and finds its end. sf_wal_replay() must be called before the first append; it
 * returns the records above ckpt_lsn. */
enum sf_err sf_wal_open(const struct sf_wal_config *config, struct sf_wal **out,
                        struct sf_why *why);

struct sf_wal_replay_stats {
    uint64_t n_records, n_batches, len;
    uint64_t n_lost_lsn; /* synced records that are lost: damage, not a torn tail */
    uint64_t first_lost_lsn, last_lost_lsn;
    uint64_t n_dropped;      /* batches without their LAST record, or without their first */
    uint64_t n_bad_segments; /* missing, unreadable, or of another store: their records are lost */
    uint64_t n_bad_pages;    /* the device could not read them */
    bool is_missing;      /* all of the newest segments and wal.tail: the number of lost records is
                             unknown */
    bool is_tail_missing; /* wal.tail is missing or damaged: the log may be incomplete */
    bool is_torn; /* the log ends with an invalid record: a write that the crash interrupted, or
                     damage to the last group */
};
/* Calls `see` for every complete batch in LSN order; `pieces` is borrowed for the call. If `see`
 * fails, replay stops and returns that code. */
enum sf_err sf_wal_replay(struct sf_wal *w,
                          enum sf_err (*see)(void *arg, uint64_t lsn,
                                             const struct sf_logged *pieces, size_t n_pieces,
                                             struct sf_why *why),
                          void *arg, struct sf_wal_replay_stats *out, struct sf_why *why);
uint64_t sf_wal_replay_pending_len(
    const struct sf_wal *w); /* bytes replay will read, for progress */

/* Queues the entry and assigns its LSNs. BUSY: the queue is full; FULL or IO: writes are currently
 * refused. Never waits for the disk. */
enum sf_err sf_wal_append(struct sf_wal *w, struct sf_wal_entry *e, struct sf_why *why);
uint64_t sf_wal_last_lsn(struct sf_wal *w); /* the last LSN that was assigned */
/* All records up to `lsn` are in blocks of the catalogue: slots with no later record become
 * free. */
void sf_wal_checkpoint(struct sf_wal *w, uint64_t lsn);
/* The second reader has processed all records up to `lsn`. */
void sf_wal_followed(struct sf_wal *w, uint64_t lsn);
/* Every batch up to here is acknowledged completely. */
uint64_t sf_wal_whole_lsn(struct sf_wal *w);
/* Bytes of full slots that the second reader still needs. */
uint64_t sf_wal_waiting_len(struct sf_wal *w);
/* Overwrites free slots with zeros, so that no byte of erased rows remains. Blocks. */
enum sf_err sf_wal_scrub(struct sf_wal *w, struct sf_why *why);
/* No record with a smaller LSN is left in any byte of the log. An erasure is complete when this
 * exceeds the LSNs of the erased records; until then: flush, checkpoint, scrub again. */
uint64_t sf_wal_oldest_lsn(struct sf_wal *w);
void sf_wal_stats(struct sf_wal *w, struct sf_wal_stats *out);
void sf_wal_close(struct sf_wal *w); /* writes all queued entries first; NULL is allowed */

/* The uuid of the store that the slots belong to, for rebuilding a catalogue. False: no slot has
 * one. */
bool sf_wal_verify_find_uuid(struct sf_dir *dir, uint8_t out[16]);

/* fsck: reads every slot without changing anything; `say` gets one sentence per finding. Normal
 * effects of a crash are reported but not counted as faults. */
enum sf_err sf_wal_verify(struct sf_dir *dir, const struct sf_wal_known *known,
                          void (*say)(void *arg, const char *sentence), void *arg,
                          uint64_t *out_n_faults, struct sf_why *why);
