/* bloom.h - a Bloom filter in blocks of 64 bytes: tests whether a hash is in a set by reading one
 * place. 14 bits per key give one false positive in about 570. No false negatives.
 *
 *   blocks of 8 u64; the filter's length is the number of blocks times 64, at least 64
 *
 * A key belongs to one block and has one bit in each of its eight words. Compared with a binary
 * fuse filter (fuse.h), which takes 9 bits per key for one in 256, building it takes a few
 * nanoseconds per key instead of thirty, repeated keys are allowed, and a test reads one page of a
 * file instead of four. Filters of the same number of blocks can be stored side by side, the blocks
 * of the same number next to each other: then a test of all of them reads one place. Keys crafted
 * to share a block only make it match more often. */
#pragma once
#include "base/buf.h"

#define SF_BLOOM_BLOCK_LEN 64

/* The number of blocks of a filter for `n_distinct` keys, at least 1; LIMIT: 2^32 keys. */
enum sf_err sf_bloom_size(size_t n_distinct, uint32_t *out_n_blocks);
/* Appends the filter of `hashes` (64-bit, well mixed). NOMEM. */
enum sf_err sf_bloom_add(struct sf_buf *out, const uint64_t *hashes, size_t n, uint32_t n_blocks);
enum sf_err sf_bloom_build(struct sf_buf *out, const uint64_t *hashes, size_t n, size_t n_distinct);
/* Where the key's block begins in a filter of `len` bytes; false: no filter has this length. */
bool sf_bloom_place(uint64_t len, uint64_t hash, uint64_t *out_off);
bool sf_bloom_block_has(const uint8_t block[SF_BLOOM_BLOCK_LEN], uint64_t hash);
/* Tests a filter that is completely in memory. */
bool sf_bloom_has(sf_bytes filter, uint64_t hash);
