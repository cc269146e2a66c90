/* wal_tail.h - a file outside the log that lists what the log must hold.
 *
 * If a slot is deleted, or its first page or its end is zeroed, the log looks as if it never had
 * these records: nothing inside the log shows the loss. So the file "wal.tail" in the data
 * directory has the header of each segment that is still needed and the last synced LSN. It is
 * written after each group, without a sync of its own: what it lists was durable before, so after a
 * power cut it may list too little but never too much. It is synced when a segment is begun and at
 * close.
 *
 *   off  size  field, of each of two pages of 4,096, which are written in turn
 *     0     8  "SFTAIL\0\0"
 *     8     8  number, grows with each write: the page with the larger one is used
 *    16     8  last synced LSN
 *    24    16  store uuid
 *    40     4  number of segments, at most 56
 *    44     4  format number
 *    48     8  XXH3 of the page with zeros here
 *    56  n*72  segments by sequence: slot number u32, 0 u32, the first 64 bytes of the slot
 *
 * If the header of a slot is damaged, its records can be read with the header stored here. */
#pragma once
#include "os/dir.h"
#include "wal/wal.h"
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
    struct sf_file file; /* open while the log is open for writing */
    bool is_failed;      /* the last write failed */
};

/* NOT_FOUND: no such file, as in directories of earlier versions. CORRUPT: neither page is valid.
 * `file` is not opened. */
enum sf_err sf_wal_tail_read(struct sf_dir *dir, struct sf_wal_tail *out, struct sf_why *why);
/* Opens the file for writing, and creates it if missing. Fields that were read stay unchanged. */
enum sf_err sf_wal_tail_open(struct sf_wal_tail *t, struct sf_dir *dir, struct sf_why *why);
enum sf_err sf_wal_tail_write(struct sf_wal_tail *t, bool is_synced, struct sf_why *why);
void sf_wal_tail_close(struct sf_wal_tail *t); /* a zeroed object is allowed */

enum sf_wal_tail_finding {
    SF_WAL_TAIL_RESTORED, /* the slot's header is damaged; the copy in wal.tail is used */
    SF_WAL_TAIL_MISSING,  /* the slot does not exist, or belongs to another segment */
};
/* Compares the slots that were found (sorted again afterwards) with wal.tail. Calls `say` for each
 * slot that is missing or has lost its header, with the range of records it must hold. */
void sf_wal_tail_compare(const struct sf_wal_tail *t, uint64_t ckpt_lsn, struct sf_wal_found *found,
                         size_t n_found,
                         void (*say)(void *arg, enum sf_wal_tail_finding what, uint32_t slot,
                                     uint64_t from, uint64_t to),
                         void *arg);
/* Is the file, and the log with it, older than the catalogue? Then both were put back: the
 * catalogue knows a later segment, of which records are in blocks already. (A segment that was
 * never begun may be in the catalogue, but none of its records in blocks.) */
bool sf_wal_tail_is_older(const struct sf_wal_tail *t, const struct sf_wal_known *known,
                          uint64_t ckpt_lsn, const struct sf_wal_found *found, size_t n_found);
/* Was the segment with this sequence, or a later one, found? */
bool sf_wal_tail_has(uint64_t sequence, const struct sf_wal_found *found, size_t n_found);
