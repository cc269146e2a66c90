#include "block/format/bloom.h"

#include "base/num.h"

enum { WORDS = SF_BLOOM_BLOCK_LEN / 8, BITS_PER_KEY = 14 };
static const size_t MAX_DISTINCT = (size_t)1 << 32;

/* The high bits of the hash choose the block: the bits within it come from all of the hash. */
static uint64_t bloom_bits(uint64_t hash)
{
    return ((hash ^ hash >> 32) * 0x9e3779b97f4a7c15u) >> 16; /* 48: six for each word */
}

static uint64_t bloom_block(uint64_t n_blocks, uint64_t hash)
{
    return (uint64_t)(((unsigned __int128)hash * n_blocks) >> 64);
}

enum sf_err sf_bloom_size(size_t n_distinct, uint32_t *out_n_blocks)
{
    size_t n;

    if (n_distinct > MAX_DISTINCT)
        return SF_ERR_LIMIT;
    n = (n_distinct * BITS_PER_KEY + SF_BLOOM_BLOCK_LEN * 8 - 1) / (SF_BLOOM_BLOCK_LEN * 8);
    *out_n_blocks = n ? (uint32_t)n : 1;
    return SF_OK;
}

enum sf_err sf_bloom_add(struct sf_buf *out, const uint64_t *hashes, size_t n, uint32_t n_blocks)
{
    size_t len = (size_t)n_blocks * SF_BLOOM_BLOCK_LEN;
    uint8_t *to = sf_buf_take(out, len);

    if (!to)
        return out->err;
    memset(to, 0, len);
    for (size_t i = 0; i < n; i++) {
        uint8_t *block = to + bloom_block(n_blocks, hashes[i]) * SF_BLOOM_BLOCK_LEN;
        uint64_t bits = bloom_bits(hashes[i]);
        for (int k = 0; k < WORDS; k++, bits >>= 6)
            sf_store_u64le(block + k * 8,
                           sf_load_u64le(block + k * 8) | (uint64_t)1 << (bits & 63));
    }
    return SF_OK;
}

enum sf_err sf_bloom_build(struct sf_buf *out, const uint64_t *hashes, size_t n, size_t n_distinct)
{
    uint32_t n_blocks;
    enum sf_err err = sf_bloom_size(n_distinct, &n_blocks);

    return err ? err : sf_bloom_add(out, hashes, n, n_blocks);
}

bool sf_bloom_place(uint64_t len, uint64_t hash, uint64_t *out_off)
{
    if (len == 0 || len % SF_BLOOM_BLOCK_LEN)
        return false;
    *out_off = bloom_block(len / SF_BLOOM_BLOCK_LEN, hash) * SF_BLOOM_BLOCK_LEN;
    return true;
}

bool sf_bloom_block_has(const uint8_t block[SF_BLOOM_BLOCK_LEN], uint64_t hash)
{
    uint64_t bits = bloom_bits(hash), all = 1;

    for (int k = 0; k < WORDS; k++, bits >>= 6)
        all &= sf_load_u64le(block + k * 8) >> (bits & 63);
    return all;
}

bool sf_bloom_has(sf_bytes filter, uint64_t hash)
{
    uint64_t off;

    if (!sf_bloom_place(filter.len, hash, &off))
        return true; /* an unreadable filter excludes nothing */
    return sf_bloom_block_has(filter.p + off, hash);
}
