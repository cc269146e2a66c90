/* wal_slots.h - the files of the log: fixed-size slots, filled with zeros once and then recycled.
 *
 * Overwriting a fully allocated file needs no journal commit at each sync, which more than doubles
 * the syncs per second (bench/wal_bench.c). So a separate thread prepares slots ahead of need: one
 * spare is always ready, unless the disk is full. A file gets its slot name when it is complete;
 * therefore a slot that is too short was truncated later and is not the result of a crash. States:
 *
 *   FREE     nothing in it is needed: the next to be taken
 *   ACTIVE   being written by the committer, the only thread that uses its file
 *   HELD     full; needed until the checkpoint passes its last LSN
 *   BAD      a write or sync failed, or its header is unreadable: never written again. Deleted
 *            once the checkpoint has passed, except when it could not be read
 *   BUSY     in use by the preparing thread or by a scrub
 *
 * Thread-safe; files are accessed without holding the lock. */
#pragma once
#include "os/dir.h"
#include "os/thread.h"
#include "wal/wal_segment.h"

enum sf_wal_slot_state {
    SF_WAL_SLOT_GONE = 0, /* unused table entry */
    SF_WAL_SLOT_FREE,
    SF_WAL_SLOT_ACTIVE,
    SF_WAL_SLOT_HELD,
    SF_WAL_SLOT_BAD,
    SF_WAL_SLOT_BUSY,
    SF_WAL_SLOT_TRASH, /* to be deleted by the preparing thread */
};

struct sf_wal_slot {
    enum sf_wal_slot_state state;
    uint32_t number;               /* its name */
    uint64_t len;                  /* of the file */
    struct sf_wal_segment segment; /* sequence 0: none */
    uint64_t last_lsn; /* HELD, BAD: the slot is released when records up to here are in blocks */
    /* No record below this is left in its bytes; UINT64_MAX: it contains only zeros. */
    uint64_t oldest_lsn;
    bool is_unreadable;  /* BAD since the start: kept for repair */
    struct sf_file file; /* open while ACTIVE */
};

enum { SF_WAL_MAX_SLOTS = 4096, SF_WAL_NAME_LEN = 24 };
void sf_wal_slots_name(uint32_t number, char out[SF_WAL_NAME_LEN]); /* "wal/0007.wal" */

/* One slot file as found on disk. */
struct sf_wal_found {
    uint32_t number;
    uint64_t len;
    enum sf_wal_segment_state state;
    enum sf_err err; /* IO and the like: the header could not be read, and state is DAMAGED */
    bool is_cut;     /* shorter than its header says, or than the minimum */
    struct sf_wal_segment segment;
};
/* Renames an empty slot, or one with a damaged header, to "wal/0007.bad", so that it is reported
 * once. */
enum sf_err sf_wal_slots_set_aside(struct sf_dir *dir, uint32_t number);
/* Deletes partly prepared slots that a crash left behind. */
void sf_wal_slots_tidy(struct sf_dir *dir);
/* Reads the headers of all slots, sorted by sequence; those without one come first. The caller
 * frees the array with sf_heap_free. Without a folder, none are found. */
enum sf_err sf_wal_slots_find(struct sf_dir *dir, struct sf_wal_found **out, size_t *out_n,
                              struct sf_why *why);

/* For logs without wal.tail: a slot with an empty header and records behind it counts as damaged
 * and is not written again. */
void sf_wal_slots_suspect(struct sf_dir *dir, struct sf_wal_found *found, size_t n);
void sf_wal_slots_found_sort(struct sf_wal_found *found, size_t n);

struct sf_wal_slots {
    struct sf_dir *dir;
    uint64_t segment_len;
    struct sf_mutex lock; /* guards all fields below; a leaf lock */
    struct sf_condvar changed;
    struct sf_wal_slot *slots; /* SF_WAL_MAX_SLOTS entries, never reallocated */
    size_t n_slots;
    uint64_t next_sequence, ckpt_lsn;
    uint64_t n_asked, n_tried; /* attempts to prepare: requested, finished */
    enum sf_err try_err;       /* of the last attempt */
    struct sf_why try_why;
    bool is_stopping;
    struct sf_thread thread;
};

enum sf_err sf_wal_slots_init(struct sf_wal_slots *s, struct sf_dir *dir, uint64_t segment_len,
                              uint64_t ckpt_lsn, struct sf_why *why);
void sf_wal_slots_done(struct sf_wal_slots *s); /* stops the thread; a zeroed object is allowed */
/* Before start: registers a slot found on disk. NULL: too many. */
struct sf_wal_slot *sf_wal_slots_add(struct sf_wal_slots *s, const struct sf_wal_found *found,
                                     enum sf_wal_slot_state state, uint64_t last_lsn);
enum sf_err sf_wal_slots_start(struct sf_wal_slots *s, struct sf_why *why);

/* Opens a free slot, which becomes ACTIVE; its segment gets the next sequence. Waits for the
 * preparing thread when none is free. FULL or IO: it could not prepare one. */
enum sf_err sf_wal_slots_take(struct sf_wal_slots *s, struct sf_wal_slot **out, struct sf_why *why);
/* Encodes the first page of the slot, for the write that begins the segment. */
void sf_wal_slots_begin(struct sf_wal_slots *s, struct sf_wal_slot *slot, uint64_t first_lsn,
                        const uint8_t store_uuid[16], uint8_t page[SF_WAL_PAGE]);
void sf_wal_slots_return(struct sf_wal_slots *s, struct sf_wal_slot *slot); /* taken, not written */
void sf_wal_slots_seal(struct sf_wal_slots *s, struct sf_wal_slot *slot, uint64_t last_lsn);
/* Call after a failed write or sync; records up to `last_lsn` in the slot had been synced
 * before. */
void sf_wal_slots_quarantine(struct sf_wal_slots *s, struct sf_wal_slot *slot, uint64_t last_lsn);
void sf_wal_slots_checkpoint(struct sf_wal_slots *s, uint64_t lsn);
/* Writes zeros over every free slot that held records, and waits for those being deleted. */
enum sf_err sf_wal_slots_scrub(struct sf_wal_slots *s, struct sf_why *why);
uint64_t sf_wal_slots_oldest_lsn(struct sf_wal_slots *s);
/* Bytes of the full slots that hold a record above `lsn`. */
uint64_t sf_wal_slots_len_above(struct sf_wal_slots *s, uint64_t lsn);
/* The newest slots that the checkpoint has not passed, at most `cap`, by sequence. */
size_t sf_wal_slots_needed(struct sf_wal_slots *s, const struct sf_wal_slot **out, size_t cap);
void sf_wal_slots_count(struct sf_wal_slots *s, uint64_t *out_len, uint64_t *out_n_used,
                        uint64_t *out_n_free);
