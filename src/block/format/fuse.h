/* fuse.h - a binary fuse filter with 8-bit fingerprints: tests whether a hash is in a set with
 * three byte reads, about 9 bits per key and one false positive in 256. No false negatives.
 *
 *   seed u64, segment_len u32, n_segments u32, then (n_segments + 2) * segment_len fingerprints
 *
 * The construction is Graf and Lemire's "Binary Fuse Filters" (2022), written from the paper: each
 * key maps to three positions in neighbouring segments; positions with a single key are peeled off
 * until none is left, then fingerprints are assigned in the reverse order. n_segments 0 is the
 * filter of the empty set; n_segments 1 with segment_len 0 says yes to everything. */
#pragma once
#include "base/buf.h"

#define SF_FUSE_HEAD_LEN 16

struct sf_fuse { /* the head, checked */
    uint64_t seed;
    uint32_t segment_len, n_segments;
};

/* Appends the filter of `hashes` (64-bit, well mixed). The array is used as scratch: its order and
 * duplicates are lost. NOMEM, LIMIT (2^27 keys). */
enum sf_err sf_fuse_build(struct sf_buf *out, uint64_t *hashes, size_t n);
/* Checks a head; `len` is that of the whole filter. */
bool sf_fuse_parse(const uint8_t head[SF_FUSE_HEAD_LEN], uint64_t len, struct sf_fuse *out);
enum sf_fuse_answer { SF_FUSE_NO, SF_FUSE_YES, SF_FUSE_LOOK };
/* check: the key's three fingerprints are at out_off, counted from the filter's start, and their
 * xor must be out_fingerprint. */
enum sf_fuse_answer sf_fuse_places(const struct sf_fuse *f, uint64_t hash, uint64_t out_off[3],
                                   uint8_t *out_fingerprint);
/* Tests a filter that is completely in memory. */
bool sf_fuse_has(sf_bytes filter, uint64_t hash);
