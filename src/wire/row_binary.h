/* row_binary.h - ClickHouse's RowBinary: values and rows without separators, types known to both
 * sides.
 *
 *     UIntN, IntN, Float64   little-endian, N / 8 bytes
 *     String                 LEB128 length, bytes
 *     FixedString(n)         n bytes
 *     Date                   u16, days since 1970-01-01
 *     Array(T)               LEB128 count, values
 *
 * LowCardinality(T) is written like T. The reader keeps the first error, later reads return zeros,
 * so one check at the end is enough. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* ---- write ---- */

static inline void sf_row_add_str(struct sf_buf *out, sf_str s)
{
    sf_buf_add_varint(out, s.len);
    sf_buf_add(out, s.p, s.len);
}

/* ---- read ---- */

struct sf_row_reader {
    const uint8_t *at, *end, *start;
    const char *fault; /* NULL: no error; otherwise a constant text */
    size_t fault_off;
};

static inline struct sf_row_reader sf_row_reader_init(sf_bytes in)
{
    const uint8_t *end = in.len ? in.p + in.len : in.p; /* the pointer of an empty answer may be
                                                         * NULL */
    return (struct sf_row_reader){.at = in.p, .end = end, .start = in.p};
}
/* Whether another row may follow: no error, and bytes are left. */
static inline bool sf_row_more(const struct sf_row_reader *r)
{
    return !r->fault && r->at < r->end;
}
uint8_t sf_row_binary_u8(struct sf_row_reader *r);
uint16_t sf_row_binary_u16(struct sf_row_reader *r);
uint32_t sf_row_binary_u32(struct sf_row_reader *r);
uint64_t sf_row_binary_u64(struct sf_row_reader *r);
double sf_row_binary_f64(struct sf_row_reader *r);
/* Borrowed from the input. */
sf_str sf_row_binary_str(struct sf_row_reader *r);
sf_str sf_row_binary_fixed(struct sf_row_reader *r, size_t len);
/* The number of items of an array, each at least `min_len` bytes long: never more than can
 * follow. */
uint32_t sf_row_binary_count(struct sf_row_reader *r, size_t min_len);
/* CORRUPT with the offset, or OK; bytes may be left. */
enum sf_err sf_row_binary_check(const struct sf_row_reader *r, struct sf_why *why);
