/* dwarf_cursor.h - reads the bytes of a section in order and never past its end. After the first
 * error all reads return zero. Pages of a file are read when they are needed. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"
#include "symbol/file_pages.h"

enum { SF_DWARF_TEXT_MAX = 1 << 16 }; /* ten times the longest names of C++ programs */

struct sf_dwarf_cursor {
    const uint8_t *at, *end;
    const uint8_t *have; /* end of the part that is in memory, between `at` and `end` */
    bool is_bad;
};

/* Starts at `off`; an error if that is past the end. A missing section is empty. */
static inline struct sf_dwarf_cursor sf_dwarf_cursor_at(sf_bytes b, uint64_t off)
{
    if (off > b.len || !b.p)
        return (struct sf_dwarf_cursor){.is_bad = off > b.len};
    return (struct sf_dwarf_cursor){b.p + off, b.p + b.len,
                                    sf_file_pages_end(b.p + off, b.p + b.len), false};
}

static inline uint64_t sf_dwarf_cursor_left(const struct sf_dwarf_cursor *c)
{
    return (uint64_t)(c->end - c->at);
}

static inline bool sf_dwarf_cursor_fail(struct sf_dwarf_cursor *c)
{
    c->is_bad = true;
    c->at = c->have = c->end;
    return false;
}

static inline bool sf_dwarf_cursor_need(struct sf_dwarf_cursor *c, uint64_t n)
{
    const uint8_t *have;
    if (!c->is_bad && n <= (uint64_t)(c->have - c->at))
        return true;
    if (c->is_bad || n > sf_dwarf_cursor_left(c))
        return sf_dwarf_cursor_fail(c);
    have = sf_file_pages_need(c->at, n, c->end);
    if (!have)
        return sf_dwarf_cursor_fail(c);
    c->have = have;
    return true;
}

static inline void sf_dwarf_skip(struct sf_dwarf_cursor *c, uint64_t n)
{
    if (c->is_bad || n > sf_dwarf_cursor_left(c)) {
        sf_dwarf_cursor_fail(c);
        return;
    }
    c->at += n;
    c->have = c->have < c->at ? c->at : c->have;
}

/* A number of `size` bytes, 1 to 8. */
static inline uint64_t sf_dwarf_uint(struct sf_dwarf_cursor *c, unsigned size)
{
    uint64_t v = 0;
    if (!sf_dwarf_cursor_need(c, size))
        return 0;
    memcpy(&v, c->at, size);
    c->at += size;
    return v;
}

static inline uint8_t sf_dwarf_u8(struct sf_dwarf_cursor *c)
{
    return (uint8_t)sf_dwarf_uint(c, 1);
}

static inline uint64_t sf_dwarf_uleb(struct sf_dwarf_cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t b = sf_dwarf_u8(c);
        if (shift < 64)
            v |= (uint64_t)(b & 127) << shift;
        if (!(b & 128))
            return v;
    }
    c->is_bad = true;
    return 0;
}

static inline int64_t sf_dwarf_sleb(struct sf_dwarf_cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t b = sf_dwarf_u8(c);
        if (shift < 64)
            v |= (uint64_t)(b & 127) << shift;
        if (!(b & 128)) {
            if (b & 64 && shift + 7 < 64)
                v |= UINT64_MAX << (shift + 7);
            return (int64_t)v;
        }
    }
    c->is_bad = true;
    return 0;
}

/* A text up to a zero byte, which must exist. */
static inline sf_str sf_dwarf_str(struct sf_dwarf_cursor *c)
{
    uint64_t most = sf_dwarf_cursor_left(c);
    sf_str s = SF_STR_NONE;
    most = most < SF_DWARF_TEXT_MAX ? most : SF_DWARF_TEXT_MAX;
    if (!c->is_bad)
        s = sf_file_pages_text((const char *)c->at, (size_t)most);
    if (!s.p || s.len == most) {
        sf_dwarf_cursor_fail(c);
        return SF_STR_NONE;
    }
    sf_dwarf_skip(c, s.len + 1);
    return s;
}

/* The next `len` bytes as a cursor of their own. */
static inline struct sf_dwarf_cursor sf_dwarf_part(struct sf_dwarf_cursor *c, uint64_t len)
{
    struct sf_dwarf_cursor part = {.is_bad = true};
    if (!c->is_bad && len <= sf_dwarf_cursor_left(c)) {
        const uint8_t *end = c->at + len;
        part = (struct sf_dwarf_cursor){c->at, end, c->have < end ? c->have : end, false};
    }
    sf_dwarf_skip(c, len);
    return part;
}

/* A length in the 32-bit or 64-bit format. */
static inline uint64_t sf_dwarf_length(struct sf_dwarf_cursor *c, uint8_t *out_off_size)
{
    uint64_t len = sf_dwarf_uint(c, 4);
    *out_off_size = 4;
    if (len == 0xffffffff) {
        *out_off_size = 8;
        len = sf_dwarf_uint(c, 8);
    } else if (len >= 0xfffffff0) {
        c->is_bad = true;
    }
    return len;
}
