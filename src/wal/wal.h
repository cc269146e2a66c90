/* wal.h - a batch made durable, and read back after a crash.
 *
 * The log is a set of fixed-size slots, recycled in place (storage page in docs/). One committer
 * thread, many batches per sync; nothing is acknowledged before its sync is done. */
#pragma once
#include "base/err.h"
#include "model/batch.h"

struct sf_dir;
struct sf_wal;

/* What the catalogue knows of the log: the newest segment that was begun. Losing the slots and
 * wal.tail together would otherwise look like a log that never was. */
struct sf_wal_known {
    uint64_t ckpt_lsn;  /* records up to here are in blocks */
    uint64_t sequence;  /* of that segment; 0: not known */
    uint64_t first_lsn; /* that it begins with */
};

struct sf_wal_config {
    struct sf_dir *dir; /* the data directory; the log lives in its wal/ */
    uint8_t store_uuid[16];
    uint64_t ckpt_lsn; /* records up to here are in blocks: ignored by replay, their slots free */
    struct sf_wal_known known; /* its ckpt_lsn is not used */
    /* There is a second reader (wal/wal_follow.h), which is done with records up to `followed_lsn`:
     * slots with later ones stay, though all in them may be in blocks. */
    bool is_followed;
    uint64_t followed_lsn;
    /* A segment is about to be begun, and wal.tail is there; called on the committer thread before
     * anything in it is acknowledged; may be NULL. */
    void (*begin)(void *arg, uint64_t sequence, uint64_t first_lsn);
    uint64_t segment_len; /* 0: SF_LIMIT_SEGMENT_LEN; tests use less */
    size_t queue_len; /* bytes that may wait for the disk; above: BUSY; 0: SF_LIMIT_BODIES_LEN */
    /* A fault or its end, for the operator; called on the committer thread, or by replay; may be
     * NULL. */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg; /* of `begin`, too */
};

/* One append. Owned by the caller until `done` was called, with everything it points to. */
struct sf_wal_entry {
    const struct sf_logged *const *pieces; /* logged together, replayed all or none */
    size_t n_pieces;
    void (*done)(
        struct sf_wal_entry *e); /* on the committer thread, after the sync (or final failure) */
    enum sf_err result;
    struct sf_why why;
    uint64_t lsn;              /* of the first piece; set by append */
    struct sf_wal_entry *next; /* the log's own */
};

/* sync_buckets[i] counts syncs of at most this << i; the last one all that took longer. */
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

/* Finds the tail. Records above ckpt_lsn wait for sf_wal_replay(), which must be called before the
 * first append. */
enum sf_err sf_wal_open(const struct sf_wal_config *config, struct sf_wal **out,
                        struct sf_why *why);

struct sf_wal_replay_stats {
    uint64_t n_records, n_batches, len;
    uint64_t n_lost_lsn; /* records that had been synced and are gone: damage, not a torn tail */
    uint64_t first_lost_lsn, last_lost_lsn;
    uint64_t n_dropped;      /* batches without their LAST record, or without their first */
    uint64_t n_bad_segments; /* missing, unreadable, or of another store: their records are lost */
    uint64_t n_bad_pages;    /* the device could not read them */
    bool is_missing;         /* all of the newest segments, and wal.tail: how much is not known */
    bool is_tail_missing;    /* wal.tail alone: whether the log is complete is unknown */
    bool is_torn;            /* the log ends in a record that does not check out: what the crash
                              * cut short, or damage to the very last group */
};
/* Calls `see` for every whole batch in LSN order: `pieces` borrowed for the call. `see` failing
 * ends it with that code. */
enum sf_err sf_wal_replay(struct sf_wal *w,
                          enum sf_err (*see)(void *arg, uint64_t lsn,
                                             const struct sf_logged *pieces, size_t n_pieces,
                                             struct sf_why *why),
                          void *arg, struct sf_wal_replay_stats *out, struct sf_why *why);
uint64_t sf_wal_replay_pending_len(
    const struct sf_wal *w); /* bytes replay will read, for progress */

/* Queues the entry; assigns its LSNs. BUSY: the queue is full; FULL or IO: writes are refused just
 * now. Never waits for the disk. */
enum sf_err sf_wal_append(struct sf_wal *w, struct sf_wal_entry *e, struct sf_why *why);
uint64_t sf_wal_last_lsn(struct sf_wal *w); /* assigned so far */
/* Everything up to `lsn` is in blocks that the catalogue knows: slots wholly below become free. */
void sf_wal_checkpoint(struct sf_wal *w, uint64_t lsn);
/* The second reader is done with everything up to `lsn`. */
void sf_wal_followed(struct sf_wal *w, uint64_t lsn);
/* Every batch up to here is acknowledged with all its pieces. */
uint64_t sf_wal_whole_lsn(struct sf_wal *w);
/* Bytes of full slots that are kept for the second reader alone or with others. */
uint64_t sf_wal_waiting_len(struct sf_wal *w);
/* Overwrites free slots with zeros (erasure: no byte of erased rows stays behind). Waits. */
enum sf_err sf_wal_scrub(struct sf_wal *w, struct sf_why *why);
/* No record with a smaller LSN can be found in any byte of the log. Erasure is done when this has
 * passed what was erased; until then: flush, checkpoint, scrub again. */
uint64_t sf_wal_oldest_lsn(struct sf_wal *w);
void sf_wal_stats(struct sf_wal *w, struct sf_wal_stats *out);
void sf_wal_close(struct sf_wal *w); /* writes what is queued; NULL is fine */

/* The store the slots belong to, for a catalogue that has to be rebuilt. False: none says. */
bool sf_wal_verify_find_uuid(struct sf_dir *dir, uint8_t out[16]);

/* fsck: reads every slot without changing anything; `say` gets one plain sentence per finding. What
 * a crash may leave behind is stated and not counted as a fault. */
enum sf_err sf_wal_verify(struct sf_dir *dir, const struct sf_wal_known *known,
                          void (*say)(void *arg, const char *sentence), void *arg,
                          uint64_t *out_n_faults, struct sf_why *why);
