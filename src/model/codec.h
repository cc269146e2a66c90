/* codec.h - encoder and decoder of the normalised forms of batches: numbers as LEB128 varints, and
 * each distinct string once, where it first occurs. For the codecs of stored forms.
 *
 * Writing: the buffer keeps the first error. Reading: the decoder keeps the first error, later
 * reads return zero; check once at the end. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/table.h"

enum { SF_CODEC_SEEN = 256 };
struct sf_codec_seen {
    sf_str s;
    uint32_t number; /* 0: none */
};

struct sf_encoder {
    struct sf_buf *out;
    struct sf_table at;
    sf_str *strings; /* by number, counted from 1; borrowed */
    uint32_t n_strings, cap_strings, n_expected;
    size_t count_off;                         /* offset of the number of strings */
    struct sf_codec_seen seen[SF_CODEC_SEEN]; /* cache by address */
};

/* Writes the version and reserves space for the number of strings. */
void sf_codec_put_begin(struct sf_encoder *e, uint8_t version, struct sf_buf *out);
/* Announces the number of new strings, so that the table is allocated once. */
void sf_codec_put_expect(struct sf_encoder *e, uint32_t n);
void sf_codec_put_end(struct sf_encoder *e); /* also frees the table */
static inline void sf_codec_put_zigzag(struct sf_buf *out, int64_t v)
{
    sf_buf_add_varint(out, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}
/* string := 0 | len bytes      a new one; it gets the next number, counted from 1
 *         | number             one that was there before */
void sf_codec_put_str(struct sf_encoder *e, sf_str s);
/* The same for a string that many items share by address: it is hashed and compared once. */
void sf_codec_put_shared(struct sf_encoder *e, sf_str s);

struct sf_decoder {
    const uint8_t *at, *end, *start;
    struct sf_arena *req;
    sf_str *strings; /* by number, less one */
    uint32_t n_strings, max_strings;
    uint8_t version; /* as given */
    const char *fault;
    size_t fault_off;
    bool is_arena_full;
};

/* UNSUPPORTED: a newer version. All other errors are reported by sf_codec_get_end(). */
enum sf_err sf_codec_get_begin(struct sf_decoder *d, sf_bytes in, uint8_t version,
                               struct sf_arena *req, struct sf_why *why);
/* Checks that everything was read. CORRUPT with the byte offset, LIMIT when `req` was too small. */
enum sf_err sf_codec_get_end(struct sf_decoder *d, struct sf_why *why);
void sf_codec_get_fail(struct sf_decoder *d, const char *fault);
/* `len` bytes, or zeros (at most 16) after an error. */
const uint8_t *sf_codec_get_raw(struct sf_decoder *d, size_t len);
uint8_t sf_codec_get_u8(struct sf_decoder *d);
uint64_t sf_codec_get_u64le(struct sf_decoder *d);
uint64_t sf_codec_get_varint(struct sf_decoder *d);
uint32_t sf_codec_get_u32(struct sf_decoder *d);
int64_t sf_codec_get_zigzag(struct sf_decoder *d);
/* A number of items of at least `least` bytes each: larger numbers are rejected. */
uint32_t sf_codec_get_count(struct sf_decoder *d, size_t least);
/* A zeroed list in `req`; NULL for none and after an error. */
void *sf_codec_get_list(struct sf_decoder *d, size_t n, size_t size);
sf_str sf_codec_get_str(struct sf_decoder *d);
