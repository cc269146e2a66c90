/* jfr_cursor.h - the primitives of JFR: numbers of up to nine bytes, and six kinds of strings.
 *
 * A number has seven bits a byte as in protobuf, but the ninth byte carries eight and ends it; it
 * may be padded with empty groups. Without the compression flag numbers are big-endian and of fixed
 * size. After the first error all reads return zero. Private to this module. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/num.h"
#include "base/str.h"

struct sf_jfr_cursor {
    const uint8_t *at, *end;
    bool is_plain;     /* numbers of fixed size */
    const char *fault; /* NULL: no error; otherwise a constant text */
    const uint8_t *fault_at;
};

void sf_jfr_cursor_fault(struct sf_jfr_cursor *c, const uint8_t *at, const char *fault);
uint64_t sf_jfr_cursor_varint_slow(struct sf_jfr_cursor *c);
uint64_t sf_jfr_cursor_fixed(struct sf_jfr_cursor *c, unsigned len);

static inline size_t sf_jfr_left(const struct sf_jfr_cursor *c)
{
    return (size_t)(c->end - c->at);
}
static inline uint64_t sf_jfr_varint(struct sf_jfr_cursor *c)
{
    if (__builtin_expect(c->at < c->end && *c->at < 0x80, 1))
        return *c->at++;
    return sf_jfr_cursor_varint_slow(c);
}
static inline int64_t sf_jfr_long(struct sf_jfr_cursor *c)
{
    return (int64_t)(__builtin_expect(c->is_plain, 0) ? sf_jfr_cursor_fixed(c, 8)
                                                      : sf_jfr_varint(c));
}
static inline int32_t sf_jfr_int(struct sf_jfr_cursor *c)
{
    return (int32_t)(uint32_t)(__builtin_expect(c->is_plain, 0) ? sf_jfr_cursor_fixed(c, 4)
                                                                : sf_jfr_varint(c));
}
static inline uint16_t sf_jfr_short(struct sf_jfr_cursor *c)
{
    return (uint16_t)(__builtin_expect(c->is_plain, 0) ? sf_jfr_cursor_fixed(c, 2)
                                                       : sf_jfr_varint(c));
}
static inline uint8_t sf_jfr_byte(struct sf_jfr_cursor *c)
{
    return (uint8_t)sf_jfr_cursor_fixed(c, 1);
}
/* A number of items of at least `size` bytes each; an impossible number is an error and 0. */
uint32_t sf_jfr_cursor_count(struct sf_jfr_cursor *c, size_t size);

enum sf_jfr_encoding {
    SF_JFR_NULL,
    SF_JFR_EMPTY,
    SF_JFR_POOL, /* a key into the pool of strings */
    SF_JFR_UTF8,
    SF_JFR_UTF16, /* code units, each a number */
    SF_JFR_LATIN1
};

struct sf_jfr_text { /* a string as encoded */
    enum sf_jfr_encoding encoding;
    sf_str raw;       /* UTF8, LATIN1: its bytes; UTF16: the encoded numbers */
    int64_t key;      /* POOL */
    uint32_t n_units; /* UTF16 */
    bool is_plain;
};

void sf_jfr_cursor_text_read(struct sf_jfr_cursor *c, struct sf_jfr_text *out);
/* As UTF-8: a view if possible, else a copy in `a`. False: the arena is full. Not for a key. */
bool sf_jfr_cursor_text_str(const struct sf_jfr_text *t, struct sf_arena *a, sf_str *out);
