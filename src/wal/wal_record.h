/* wal_record.h - one record of the log: a piece of an accepted request.
 *
 *   off  size  field
 *     0     4  tag: low 32 bits of the segment's sequence
 *     4     4  length of meta + body
 *     8     8  LSN, contiguous over the whole log
 *    16     1  kind (enum sf_log_kind)
 *    17     1  bits 0-3 encoding of the body; bit 5 FIRST, bit 7 LAST record of its batch;
 *              bit 6 GROUP: first record of a commit group
 *    18     2  length of meta
 *    20     4  decoded length, 0 unknown
 *    24     8  receive time, unix ns
 *    32     8  checksum: XXH3 of bytes 0-31 seeded by the segment, seeds XXH3 of meta, which seeds
 *              XXH3 of the body
 *    40        meta: key\0value\0 pairs, the first of them "tenant" with a decimal number
 *              body
 *              zeros up to a multiple of 8
 *
 * FIRST lets replay tell the tail of a batch whose head was lost from a whole batch. GROUP lets it
 * tell damage from a torn tail: a group is written only after the sync of the one before, so a
 * valid GROUP record proves that everything before it had been acknowledged. */
#pragma once
#include "base/err.h"
#include "model/batch.h"
#include "wal/wal_segment.h"

enum { SF_WAL_RECORD_HEADER_LEN = 40 };
enum {
    SF_WAL_FIRST = 0x20,
    SF_WAL_GROUP = 0x40,
    SF_WAL_LAST = 0x80,
};

struct sf_wal_record {
    uint64_t lsn;
    uint8_t flags; /* SF_WAL_FIRST, GROUP, LAST */
    uint32_t tag;
    size_t content_len; /* meta and body */
    size_t meta_len;    /* stored, with the tenant */
    struct sf_logged logged;
};

/* LIMIT: over 16 MiB, or over `segment_len`; INPUT: the format cannot store it. */
enum sf_err sf_wal_record_check(const struct sf_logged *l, uint64_t segment_len,
                                struct sf_why *why);
size_t sf_wal_record_len(const struct sf_logged *l);      /* length in the segment, with padding */
size_t sf_wal_record_head_len(const struct sf_logged *l); /* length of header and meta */
/* Writes header and meta to `out` (head_len bytes); the body follows unchanged. */
void sf_wal_record_encode(const struct sf_logged *l, uint64_t lsn, uint8_t flags,
                          const struct sf_wal_segment *segment, uint8_t *out);

/* Parses the 40-byte header; false if it is not a valid header. `logged` gets no meta and body. */
bool sf_wal_record_peek(const uint8_t *header, struct sf_wal_record *out);
/* Checks `content` (meta and body of a peeked record) and fills in meta, body and tenant, all
 * borrowed from it. `is_trusting` skips the checksum, so that a fuzzer reaches the code behind
 * it. */
bool sf_wal_record_decode(const uint8_t *header, const uint8_t *content,
                          const struct sf_wal_segment *segment, bool is_trusting,
                          struct sf_wal_record *r);
/* Distance from the start of a record to the start of the next. */
static inline uint64_t sf_wal_record_span(const struct sf_wal_record *r)
{
    return (SF_WAL_RECORD_HEADER_LEN + (uint64_t)r->content_len + 7) / 8 * 8;
}
