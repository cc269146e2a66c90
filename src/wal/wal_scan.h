/* wal_scan.h - reads the records of one segment in order, past damage.
 *
 * A record counts if tag, LSN, bounds and checksum fit. After one that does not, the scan examines
 * page boundaries for the next commit group. A group with the expected LSN is the normal case: the
 * zeros behind a group were skipped. A group with a later one proves that acknowledged records
 * between them are gone, since it was written after their sync: they are counted as lost and the
 * scan continues. Without a further group the segment ends here.
 *
 * Pages the device cannot read count as damage and read as zeros. One thread. */
#pragma once
#include "os/file.h"
#include "wal/wal_record.h"

struct sf_wal_scan {
    /* Set by init; the rest is the scan's own. */
    const struct sf_file *file; /* NULL: `mem` */
    sf_bytes mem;
    uint64_t len; /* bytes of the slot */
    struct sf_wal_segment segment;
    uint64_t limit_lsn; /* records from here on belong to a later segment */
    bool is_trusting;   /* fuzzing: no checksums */

    uint64_t off, next_lsn;
    uint64_t n_records, n_lost; /* returned; known to be missing between returned ones */
    uint64_t n_bad_pages;       /* the device refused to read them */
    bool is_torn;               /* at the end stands a record that does not check out */
    enum sf_err err;            /* NOMEM; everything the disk does is a finding, not an error */
    uint8_t *window;            /* bytes [window_off, window_off + window_len) of the file */
    size_t window_cap, window_len;
    uint64_t window_off;
    bool is_done;
};

void sf_wal_scan_init(struct sf_wal_scan *s, const struct sf_file *file, uint64_t len,
                      const struct sf_wal_segment *segment, uint64_t limit_lsn);
void sf_wal_scan_init_mem(struct sf_wal_scan *s, sf_bytes slot,
                          const struct sf_wal_segment *segment, uint64_t limit_lsn);
void sf_wal_scan_done(struct sf_wal_scan *s); /* a zeroed scan is fine */
/* The next record, borrowed until the next call. `out_n_lost` records before it are missing. False
 * at the end, or with s->err set. */
bool sf_wal_scan_next(struct sf_wal_scan *s, struct sf_wal_record *out, uint64_t *out_n_lost);
