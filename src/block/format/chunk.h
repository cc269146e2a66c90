/* chunk.h - one column of one granule on disk: compressed, checksummed, described by 32 bytes:
 *
 *   column u16, encoding u8, codec u8, values u32, cardinality u32, stored u32, offset u64, raw
 *   u32, low half of XXH3 of the stored bytes u32 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"

enum sf_codec { SF_CODEC_NONE = 0, SF_CODEC_ZSTD = 1 };

#define SF_CHUNK_DESC_LEN 32
/* The largest allowed compression ratio; larger claims are rejected, and the compressor respects
 * it. */
#define SF_CODEC_MAX_RATIO 16384

struct sf_chunk_desc {
    uint16_t column;
    uint8_t encoding, codec;
    uint32_t n_values;
    uint32_t cardinality; /* codes: size of the dictionary; dictionaries and constants: number of
                             value hashes that the granule stores for it */
    uint32_t stored_len, raw_len, checksum;
    uint64_t off;
};

void sf_chunk_desc_encode(struct sf_buf *out, const struct sf_chunk_desc *d);
struct sf_chunk_desc sf_chunk_desc_decode(const uint8_t p[SF_CHUNK_DESC_LEN]);

struct sf_chunk_packer; /* a compressor's memory, used again for every chunk */
struct sf_chunk_packer *sf_chunk_packer_new(void); /* NULL: no memory */
void sf_chunk_packer_free(struct sf_chunk_packer *p);
size_t sf_chunk_packer_memory(const struct sf_chunk_packer *p);
/* Appends `raw`, compressed if that is shorter (p NULL: never), and returns the codec. */
uint8_t sf_chunk_pack(struct sf_chunk_packer *p, struct sf_buf *out, sf_bytes raw);
/* Writes exactly raw_len bytes to `to`, or CORRUPT; LIMIT when scratch is too small. */
enum sf_err sf_chunk_unpack(uint8_t codec, sf_bytes stored, uint8_t *to, size_t raw_len,
                            struct sf_arena scratch);
bool sf_chunk_is_plausible(uint8_t codec, uint64_t stored_len, uint64_t raw_len);
