/* wal_segment.h - the first page of a log slot, which identifies the segment that it holds.
 *
 *   off  size  field
 *     0     8  "SFWAL\0\0\0"
 *     8     8  sequence, grows by 1 for each use of any slot
 *    16     8  first LSN
 *    24     8  creation time, unix ns
 *    32    16  store uuid
 *    48     2  format number
 *    50     2  0
 *    52     4  length of the slot in pages of 4,096, to detect a truncated file
 *    56     8  XXH3 of bytes 0-55: the segment's seed
 *
 * The same 64 bytes are stored at 0 and again at 2,048, in another sector: one flipped bit must not
 * make 64 MiB of acknowledged records unreadable.
 *
 * The checksum also seeds the checksum of every record of the segment. So a record left from an
 * earlier use of the slot is invalid, and so are bytes that a sender crafted like a record and that
 * are stored on a page boundary: the seed depends on the store's random uuid and on the nanosecond
 * of creation. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SF_WAL_PAGE = 4096, SF_WAL_FORMAT = 1 };

struct sf_wal_segment {
    uint64_t sequence, first_lsn;
    int64_t created_ns;
    uint8_t store_uuid[16];
    uint32_t n_pages; /* of the slot */
    uint64_t seed;    /* set by encode and decode */
};

enum sf_wal_segment_state {
    SF_WAL_SEGMENT_OK,
    SF_WAL_SEGMENT_REPAIRED, /* one of the two copies is damaged */
    SF_WAL_SEGMENT_RESTORED, /* both copies are gone; taken from wal.tail (wal/wal_tail.h) */
    SF_WAL_SEGMENT_EMPTY,    /* zeros: prepared, never used, or scrubbed */
    SF_WAL_SEGMENT_DAMAGED,  /* neither copy is valid, or the format is unknown */
};

/* Encodes the 64 bytes only. */
void sf_wal_segment_encode_header(const struct sf_wal_segment *s, uint8_t out[64]);
bool sf_wal_segment_decode_header(const uint8_t at[64], struct sf_wal_segment *out);
/* Fills the whole page. */
void sf_wal_segment_encode(struct sf_wal_segment *s, uint8_t page[SF_WAL_PAGE]);
/* `out` is set for OK and REPAIRED only. */
enum sf_wal_segment_state sf_wal_segment_decode(const uint8_t page[SF_WAL_PAGE],
                                                struct sf_wal_segment *out);

static inline bool sf_wal_segment_is_known(enum sf_wal_segment_state state)
{
    return state <= SF_WAL_SEGMENT_RESTORED;
}

static inline uint64_t sf_wal_page_up(uint64_t off)
{
    return (off + SF_WAL_PAGE - 1) / SF_WAL_PAGE * SF_WAL_PAGE;
}
