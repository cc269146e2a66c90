/* planes.h - numbers as byte planes: the encoding PLANES of a column.
 *
 *   min u64, divisor u64, width u8, then `width` planes of n bytes
 *
 * Value i is min + q * divisor (mod 2^64), and plane p holds byte p of every q. Times in
 * microseconds share the divisor 1000; high bytes that hardly change are adjacent, which compresses
 * well. Width 0: all values are `min`. */
#pragma once
#include "base/buf.h"

struct sf_planes {
    uint64_t min, divisor;
    uint8_t width;        /* 0-8 */
    const uint8_t *bytes; /* width * n bytes, borrowed from the input */
};

#define SF_PLANES_HEAD_LEN 17

/* Chooses the parameters for `vals`, by the smaller range of signed and unsigned order. */
struct sf_planes sf_planes_plan(const uint64_t *vals, size_t n);
void sf_planes_encode(struct sf_buf *out, const uint64_t *vals, size_t n);
/* One byte plane per byte of the code; `width` is 1, 2 or 4. */
void sf_planes_encode_codes(struct sf_buf *out, const uint32_t *codes, size_t n, unsigned width);

/* Parses planes of n values from the front of `in`. False: not valid. */
bool sf_planes_parse(sf_bytes *in, size_t n, struct sf_planes *out);
void sf_planes_decode(const struct sf_planes *p, size_t n, uint64_t *out);
/* May one of the n values be `v`? May be true wrongly for values whose range wraps. */
bool sf_planes_may_have(const struct sf_planes *p, size_t n, uint64_t v);
/* Decodes codes of `width` bytes; false when one is not below `limit`. */
bool sf_planes_decode_codes(const uint8_t *planes, size_t n, unsigned width, uint32_t limit,
                            uint32_t *out);
