/* cursor.h - reads stored numbers from a range of bytes. The first error is kept and later reads
 * return zero, so callers check once at the end. */
#pragma once
#include "base/buf.h"
#include "base/num.h"

struct sf_cursor {
    const uint8_t *at, *end;
    bool is_bad;
};

static inline struct sf_cursor sf_cursor_of(sf_bytes b)
{
    return (struct sf_cursor){b.p, b.p + b.len, false};
}
static inline size_t sf_cursor_left(const struct sf_cursor *c)
{
    return (size_t)(c->end - c->at);
}
static inline const uint8_t *sf_cursor_take(struct sf_cursor *c, size_t len)
{
    const uint8_t *p = c->at;
    if (c->is_bad || len > sf_cursor_left(c)) {
        c->is_bad = true;
        return NULL;
    }
    c->at += len;
    return p;
}
static inline uint8_t sf_cursor_u8(struct sf_cursor *c)
{
    const uint8_t *p = sf_cursor_take(c, 1);
    return p ? *p : 0;
}
static inline uint64_t sf_cursor_u64(struct sf_cursor *c)
{
    const uint8_t *p = sf_cursor_take(c, 8);
    return p ? sf_load_u64le(p) : 0;
}
static inline uint32_t sf_cursor_u32(struct sf_cursor *c)
{
    const uint8_t *p = sf_cursor_take(c, 4);
    return p ? sf_load_u32le(p) : 0;
}
static inline uint64_t sf_cursor_varint(struct sf_cursor *c)
{
    uint64_t v = 0;
    /* Fast path: nearly all of these numbers are one byte. */
    if (!c->is_bad && c->at < c->end && *c->at < 128)
        return *c->at++;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t b = sf_cursor_u8(c);
        v |= (uint64_t)(b & 127) << shift;
        if (!(b & 128))
            return v;
    }
    c->is_bad = true;
    return 0;
}
/* A varint that must fit 32 bits. */
static inline uint32_t sf_cursor_varint32(struct sf_cursor *c)
{
    uint64_t v = sf_cursor_varint(c);
    if (v > UINT32_MAX) {
        c->is_bad = true;
        return 0;
    }
    return (uint32_t)v;
}
static inline sf_str sf_cursor_str(struct sf_cursor *c)
{
    uint64_t len = sf_cursor_varint(c);
    const uint8_t *p = len <= SIZE_MAX ? sf_cursor_take(c, (size_t)len) : NULL;
    return p ? (sf_str){(const char *)p, (size_t)len} : SF_STR_NONE;
}
