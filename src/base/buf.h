/* buf.h - a growing byte buffer with a cap. After the first error (memory, cap) appends do nothing;
 * check once at the end. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct sf_buf {
    uint8_t *p;
    size_t len, cap;
    size_t max;      /* 0: SF_BUF_MAX */
    enum sf_err err; /* SF_OK, LIMIT or NOMEM; or the error of `spill` */
    /* `spill` is called to send and empty the buffer whenever it holds `spill_len` bytes: for
     * output that is sent while it is written. `len` then counts the bytes not yet sent. */
    enum sf_err (*spill)(void *arg, struct sf_buf *b);
    void *spill_arg;
    size_t spill_len;
};

#define SF_BUF_MAX ((size_t)1 << 31)

void sf_buf_done(struct sf_buf *b);  /* a zeroed buffer is fine */
void sf_buf_reset(struct sf_buf *b); /* empties, clears the error, keeps memory */
bool sf_buf_ok(const struct sf_buf *b);
bool sf_buf_reserve(struct sf_buf *b, size_t more); /* reserves space for `more` further bytes */
/* Adds `more` bytes for the caller to write, already counted in len; NULL after an error. */
uint8_t *sf_buf_take(struct sf_buf *b, size_t more);
void sf_buf_add(struct sf_buf *b, const void *p, size_t len);
void sf_buf_add_str(struct sf_buf *b, sf_str s);
void sf_buf_add_u8(struct sf_buf *b, uint8_t v);
void sf_buf_add_u16le(struct sf_buf *b, uint16_t v);
void sf_buf_add_u32le(struct sf_buf *b, uint32_t v);
void sf_buf_add_u64le(struct sf_buf *b, uint64_t v);
void sf_buf_print(struct sf_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
sf_bytes sf_buf_bytes(const struct sf_buf *b); /* borrowed until the next append */
sf_str sf_buf_str(const struct sf_buf *b);

/* LEB128: seven bits a byte, lowest first. */
void sf_buf_add_varint_slow(struct sf_buf *b, uint64_t v);
static inline void sf_buf_add_varint(struct sf_buf *b, uint64_t v)
{
    uint8_t *to;
    /* Ten bytes are the maximum; a buffer with a limit of its own uses the slow path. */
    if (b->err || b->max || b->cap > SF_BUF_MAX || b->cap - b->len < 10) {
        sf_buf_add_varint_slow(b, v);
        return;
    }
    to = b->p + b->len;
    for (; v > 127; v >>= 7)
        *to++ = (uint8_t)(v | 128);
    *to++ = (uint8_t)v;
    b->len = (size_t)(to - b->p);
}
