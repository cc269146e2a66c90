/* wal_scan.h - reads the records of one segment in order, and continues after damage.
 *
 * A record is valid if tag, LSN, bounds and checksum match. After an invalid one, the scan examines
 * page boundaries for the next commit group. A group with the expected LSN is the normal case: the
 * scan skipped the padding after a group. A group with a later LSN proves that acknowledged records
 * between them are lost, since it was written after their sync: they are counted as lost and the
 * scan continues. Without a further group the segment ends here.
 *
 * Pages that the device cannot read count as damage and read as zeros. For use by one thread. */
#pragma once
#include "os/file.h"
#include "wal/wal_record.h"

struct sf_wal_scan {
    /* Set by init; the remaining fields are internal. */
    const struct sf_file *file; /* NULL: `mem` */
    sf_bytes mem;
    uint64_t len; /* bytes of the slot */
    struct sf_wal_segment segment;
    uint64_t limit_lsn; /* records from here on belong to a later segment */
    bool is_trusting;   /* fuzzing: no checksums */

    uint64_t off, next_lsn;
    uint64_t n_records, n_lost; /* records returned; records known to be missing between them */
    uint64_t n_bad_pages;       /* the device refused to read them */
    bool is_torn;               /* the segment ends with an invalid record */
    enum sf_err err;            /* NOMEM only; disk errors are counted above */
    uint8_t *window;            /* bytes [window_off, window_off + window_len) of the file */
    size_t window_cap, window_len;
    uint64_t window_off;
    bool is_done;
};

void sf_wal_scan_init(struct sf_wal_scan *s, const struct sf_file *file, uint64_t len,
                      const struct sf_wal_segment *segment, uint64_t limit_lsn);
void sf_wal_scan_init_mem(struct sf_wal_scan *s, sf_bytes slot,
                          const struct sf_wal_segment *segment, uint64_t limit_lsn);
void sf_wal_scan_done(struct sf_wal_scan *s); /* a zeroed scan is allowed */
/* The next record, borrowed until the next call. `out_n_lost` records before it are missing. False
 * at the end, or with s->err set. */
bool sf_wal_scan_next(struct sf_wal_scan *s, struct sf_wal_record *out, uint64_t *out_n_lost);
