/* wal_tail.h - what the log must hold, written down outside of it.
 *
 * A slot that is deleted, whose first page is zeroed, or whose end is zeroed looks like a log that
 * never had more: nothing inside the log can tell. So "wal.tail" in the data directory knows the
 * header of each segment that is still needed and the last LSN that was synced. It is written after
 * each group, without a sync of its own: what it says was durable before, so after a power cut it
 * may say too little and never too much. It is synced when a segment is begun and at the close.
 *
 *   off  size  field, of each of two pages of 4,096, which are written in turn
 *     0     8  "SFTAIL\0\0"
 *     8     8  number, grows with each write: the larger one counts
 *    16     8  last synced LSN
 *    24    16  store uuid
 *    40     4  number of segments, at most 56
 *    44     4  format number
 *    48     8  XXH3 of the page with zeros here
 *    56  n*72  segments by sequence: slot number u32, 0 u32, the first 64 bytes of the slot
 *
 * With the header of a slot whose own is gone the records can be read again. */
#pragma once
#include "os/dir.h"
#include "wal/wal_slots.h"

enum { SF_WAL_TAIL_SEGMENTS = 56, SF_WAL_TAIL_FORMAT = 1 };
#define SF_WAL_TAIL_NAME "wal.tail"

struct sf_wal_tail_segment {
    uint32_t number; /* of the slot */
    struct sf_wal_segment segment;
};

struct sf_wal_tail {
    uint64_t number, synced_lsn;
    uint8_t store_uuid[16];
    struct sf_wal_tail_segment segments[SF_WAL_TAIL_SEGMENTS];
    uint32_t n_segments;
    struct sf_file file; /* open while the log is written */
    bool is_failed;      /* the last write failed */
};

/* NOT_FOUND: there is none, as in a directory of an earlier version. CORRUPT: neither page checks
 * out. `file` is not opened. */
enum sf_err sf_wal_tail_read(struct sf_dir *dir, struct sf_wal_tail *out, struct sf_why *why);
/* For writing, made when missing. What was read stays as it is. */
enum sf_err sf_wal_tail_open(struct sf_wal_tail *t, struct sf_dir *dir, struct sf_why *why);
enum sf_err sf_wal_tail_write(struct sf_wal_tail *t, bool is_synced, struct sf_why *why);
void sf_wal_tail_close(struct sf_wal_tail *t); /* a zeroed one is fine */

enum sf_wal_tail_finding {
    SF_WAL_TAIL_RESTORED, /* the slot's header is gone; the one written down is used */
    SF_WAL_TAIL_MISSING,  /* no such slot, or it belongs to another segment */
};
/* Compares the slots that were found (sorted again afterwards) with what must be there; `say` is
 * called for each slot that has lost its header or is not there, with the records it must hold. */
void sf_wal_tail_compare(const struct sf_wal_tail *t, uint64_t ckpt_lsn, struct sf_wal_found *found,
                         size_t n_found,
                         void (*say)(void *arg, enum sf_wal_tail_finding what, uint32_t slot,
                                     uint64_t from, uint64_t to),
                         void *arg);
/* Is the segment of this sequence, or a later one, among those found? */
bool sf_wal_tail_has(uint64_t sequence, const struct sf_wal_found *found, size_t n_found);
