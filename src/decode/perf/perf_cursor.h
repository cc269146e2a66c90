/* perf_cursor.h - reads numbers and texts from a perf.data file of either byte order. */
#pragma once
#include "base/num.h"
#include "base/str.h"

struct sf_perf_cursor { /* reads one record: missing data reads as zero, and is_short stays set */
    const uint8_t *at, *end;
    bool is_short, is_big;
};

static inline uint16_t sf_perf_u16(const uint8_t *p, bool is_big)
{
    uint16_t v = sf_load_u16le(p);
    return is_big ? (uint16_t)(v << 8 | v >> 8) : v;
}

static inline uint32_t sf_perf_u32(const uint8_t *p, bool is_big)
{
    return is_big ? sf_load_u32be(p) : sf_load_u32le(p);
}

static inline uint64_t sf_perf_u64(const uint8_t *p, bool is_big)
{
    return is_big ? sf_load_u64be(p) : sf_load_u64le(p);
}

static inline uint64_t sf_perf_take_u64(struct sf_perf_cursor *c)
{
    uint64_t v;
    if (c->end - c->at < 8) {
        c->is_short = true;
        return 0;
    }
    v = sf_perf_u64(c->at, c->is_big);
    c->at += 8;
    return v;
}

static inline uint32_t sf_perf_take_u32(struct sf_perf_cursor *c)
{
    uint32_t v;
    if (c->end - c->at < 4) {
        c->is_short = true;
        return 0;
    }
    v = sf_perf_u32(c->at, c->is_big);
    c->at += 4;
    return v;
}

static inline void sf_perf_skip(struct sf_perf_cursor *c, uint64_t n)
{
    if (n > (uint64_t)(c->end - c->at))
        c->is_short = true;
    else
        c->at += n;
}

/* Up to a zero byte, or to the end. */
static inline sf_str sf_perf_take_text(struct sf_perf_cursor *c)
{
    const uint8_t *from = c->at;
    while (c->at < c->end && *c->at)
        c->at++;
    return (sf_str){(const char *)from, (size_t)(c->at - from)};
}
