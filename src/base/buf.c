#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/num.h"

enum { LARGE_LEN = 1 << 20 };

void sf_buf_done(struct sf_buf *b)
{
    sf_heap_free(b->p);
    *b = (struct sf_buf){0};
}

void sf_buf_reset(struct sf_buf *b)
{
    b->len = 0;
    b->err = SF_OK;
}

bool sf_buf_ok(const struct sf_buf *b)
{
    return b->err == SF_OK;
}

bool sf_buf_reserve(struct sf_buf *b, size_t more)
{
    size_t max = b->max ? b->max : SF_BUF_MAX;
    size_t cap = b->cap ? b->cap : 256;
    uint8_t *p;

    if (!b->err && b->spill && b->len >= b->spill_len)
        b->err = b->spill(b->spill_arg, b);
    if (b->err)
        return false;
    if (b->len > max || more > max - b->len) {
        b->err = SF_ERR_LIMIT;
        return false;
    }
    if (more <= b->cap - b->len)
        return true;
    if (!b->p && more > LARGE_LEN)
        cap = more; /* a whole body, usually */
    while (cap - b->len < more)
        cap *= 2; /* max is at most 2^31, so this ends and cannot wrap */
    p = sf_heap_grow(b->p, cap, 1);
    if (!p) {
        b->err = SF_ERR_NOMEM;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

uint8_t *sf_buf_take(struct sf_buf *b, size_t more)
{
    uint8_t *p;
    if (!sf_buf_reserve(b, more ? more : 1)) /* NULL must mean failure, so reserve at least one
                                              * byte */
        return NULL;
    p = b->p + b->len;
    b->len += more;
    return p;
}

void sf_buf_add(struct sf_buf *b, const void *p, size_t len)
{
    uint8_t *to = len ? sf_buf_take(b, len) : NULL;
    if (to)
        memcpy(to, p, len);
}

void sf_buf_add_str(struct sf_buf *b, sf_str s)
{
    sf_buf_add(b, s.p, s.len);
}

void sf_buf_add_u8(struct sf_buf *b, uint8_t v)
{
    sf_buf_add(b, &v, 1);
}

void sf_buf_add_u16le(struct sf_buf *b, uint16_t v)
{
    uint8_t raw[2];
    sf_store_u16le(raw, v);
    sf_buf_add(b, raw, sizeof(raw));
}

void sf_buf_add_u32le(struct sf_buf *b, uint32_t v)
{
    uint8_t raw[4];
    sf_store_u32le(raw, v);
    sf_buf_add(b, raw, sizeof(raw));
}

void sf_buf_add_u64le(struct sf_buf *b, uint64_t v)
{
    uint8_t raw[8];
    sf_store_u64le(raw, v);
    sf_buf_add(b, raw, sizeof(raw));
}

void sf_buf_add_varint_slow(struct sf_buf *b, uint64_t v)
{
    uint8_t raw[10];
    size_t n = 0;
    for (; v > 127; v >>= 7)
        raw[n++] = (uint8_t)(v | 128);
    raw[n++] = (uint8_t)v;
    sf_buf_add(b, raw, n);
}

void sf_buf_print(struct sf_buf *b, const char *format, ...)
{
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    /* One byte more for the terminator vsnprintf writes; it is not counted in len. */
    if (len < 0 || !sf_buf_reserve(b, (size_t)len + 1))
        return;
    va_start(args, format);
    vsnprintf((char *)b->p + b->len, (size_t)len + 1, format, args);
    va_end(args);
    b->len += (size_t)len;
}

sf_bytes sf_buf_bytes(const struct sf_buf *b)
{
    return (sf_bytes){b->p, b->len};
}

sf_str sf_buf_str(const struct sf_buf *b)
{
    return (sf_str){(const char *)b->p, b->len};
}
