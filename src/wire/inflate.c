/* Two ways to the same bytes. A gzip body in memory says its size in its last four bytes and a zstd
 * frame in its header: when that number is believable, the output is reserved once and the
 * whole-buffer routine does the work at twice the speed. A number is believable when it is within
 * the limit and within 64 times the input, so that a few hostile bytes reserve little. Everything
 * else, and everything the fast way refuses, goes through the streaming libraries, which also know
 * the offset of a fault. */
#define ZSTD_STATIC_LINKING_ONLY /* for the allocator of a context */
#include "wire/inflate.h"

#include <libdeflate.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/heap.h"
#include "base/num.h"
#include "wire/zmem.h"

enum {
    WINDOW_LOG = 23,       /* 8 MiB, what RFC 8878 asks of every decoder */
    KEEP_LEN = 1 << 20,    /* a zstd context grown beyond it by a wide window is given back */
    GROW_LEAST = 16 * 1024 /* output grows at least by this much */
};

struct sf_inflate {
    struct libdeflate_decompressor *whole; /* made when first needed, like the others */
    z_stream zlib;
    bool has_zlib;
    ZSTD_DCtx *zstd;
};

/* One run: where input comes from and where output goes. */
struct run {
    struct sf_inflate *z;
    sf_inflate_pull pull; /* NULL: `piece` is all there is */
    void *arg;
    sf_bytes piece;    /* not yet consumed */
    uint64_t consumed; /* bytes before `piece` */
    bool is_ended;     /* pull has nothing more */
    bool is_open;      /* the end of the last frame may be missing */
    struct sf_buf *out;
    size_t out_from, max_len;
    struct sf_why *why;
    const char *name;
};

struct sf_inflate *sf_inflate_new(void)
{
    sf_zmem_libdeflate();
    return sf_heap_new(sizeof(struct sf_inflate));
}

void sf_inflate_free(struct sf_inflate *z)
{
    if (!z)
        return;
    if (z->whole)
        libdeflate_free_decompressor(z->whole);
    if (z->has_zlib)
        inflateEnd(&z->zlib);
    ZSTD_freeDCtx(z->zstd);
    sf_heap_free(z);
}

static enum sf_err no_memory(struct run *r)
{
    return sf_fail(r->why, SF_ERR_NOMEM, "%s: no memory to inflate", r->name);
}

static enum sf_err bad(struct run *r, const char *what)
{
    return sf_fail(r->why, SF_ERR_INPUT, "%s: %s at byte %llu", r->name, what,
                   (unsigned long long)r->consumed);
}

static enum sf_err too_long(struct run *r)
{
    return sf_fail(r->why, SF_ERR_LIMIT, "%s: inflates to more than %zu bytes", r->name,
                   r->max_len);
}

/* Makes sure there is input, if there is any at all. */
static enum sf_err fill(struct run *r)
{
    enum sf_err err;
    if (r->piece.len || r->is_ended)
        return SF_OK;
    if (!r->pull) {
        r->is_ended = true;
        return SF_OK;
    }
    err = r->pull(r->arg, &r->piece, r->why);
    if (err)
        return err;
    r->is_ended = r->piece.len == 0;
    return SF_OK;
}

static void consume(struct run *r, size_t len)
{
    r->piece.p += len;
    r->piece.len -= len;
    r->consumed += len;
}

/* Room for more output. Once the limit is reached the libraries get `spare`: whatever they put
 * there is one byte too many, and if they put nothing the stream was just as long as allowed. */
static bool make_room(struct run *r, uint8_t *spare, size_t spare_len, uint8_t **out_p,
                      size_t *out_room)
{
    size_t made = r->out->len - r->out_from, left = r->max_len - made, want;
    if (left == 0) {
        *out_p = spare;
        *out_room = spare_len;
        return true;
    }
    want = made > GROW_LEAST ? made : GROW_LEAST;
    if (r->out->cap - r->out->len >= GROW_LEAST / 4)
        want = r->out->cap - r->out->len; /* use up what is there before growing */
    if (want > left)
        want = left;
    if (!sf_buf_reserve(r->out, want))
        return false;
    *out_p = r->out->p + r->out->len;
    *out_room = want;
    return true;
}

static enum sf_err buffer_fault(struct run *r)
{
    return r->out->err == SF_ERR_LIMIT ? too_long(r) : no_memory(r);
}

/* ---- gzip and zlib ---- */

static enum sf_err start_zlib(struct run *r, int window_bits)
{
    z_stream *s = &r->z->zlib;
    if (r->z->has_zlib)
        return inflateReset2(s, window_bits) == Z_OK ? SF_OK : no_memory(r);
    s->zalloc = sf_zmem_zlib_new;
    s->zfree = sf_zmem_any_free;
    if (inflateInit2(s, window_bits) != Z_OK)
        return no_memory(r);
    r->z->has_zlib = true;
    return SF_OK;
}

/* One step of zlib: from the piece at hand to the room at hand. */
static enum sf_err zlib_step(struct run *r, int *out_status)
{
    z_stream *s = &r->z->zlib;
    uint8_t spare[32], *to;
    size_t room, give = r->piece.len < (1u << 30) ? r->piece.len : 1u << 30;

    if (!make_room(r, spare, sizeof(spare), &to, &room))
        return buffer_fault(r);
    if (room > 1u << 30)
        room = 1u << 30;
    s->next_in = (Bytef *)(uintptr_t)r->piece.p; /* zlib only reads it */
    s->avail_in = (uInt)give;
    s->next_out = to;
    s->avail_out = (uInt)room;
    *out_status = inflate(s, Z_NO_FLUSH);
    consume(r, give - s->avail_in);
    if (to == spare && s->avail_out < sizeof(spare))
        return too_long(r);
    if (to != spare)
        r->out->len += room - s->avail_out;
    return SF_OK;
}

static enum sf_err zlib_stream(struct run *r)
{
    for (;;) {
        int status = Z_OK;
        enum sf_err err = fill(r);
        if (err)
            return err;
        err = zlib_step(r, &status);
        if (err)
            return err;
        if (status == Z_STREAM_END)
            return SF_OK;
        if (status == Z_MEM_ERROR)
            return no_memory(r);
        if (status != Z_OK && status != Z_BUF_ERROR)
            return bad(r, status == Z_NEED_DICT ? "needs a dictionary" : "damaged");
        /* No progress is possible only when input is missing: there is always room. */
        if (status == Z_BUF_ERROR && r->piece.len == 0 && r->is_ended)
            return bad(r, "truncated");
    }
}

static enum sf_err gzip_members(struct run *r)
{
    for (;;) {
        enum sf_err err = start_zlib(r, 15 + 16);
        if (!err)
            err = zlib_stream(r);
        if (!err)
            err = fill(r);
        if (err)
            return err;
        if (r->piece.len == 0)
            return SF_OK;
        if (r->piece.p[0] != 0x1f)
            return bad(r, "followed by something that is not gzip");
    }
}

/* RFC 9110's "deflate" is zlib-wrapped, but some senders leave the wrapper off. A raw stream cannot
 * look like a zlib header in practice: its first block would be a stored one with stray bits. */
static bool is_zlib_header(sf_bytes in)
{
    return in.len >= 2 && (in.p[0] & 15) == 8 && in.p[0] >> 4 <= 7 &&
           (in.p[0] * 256 + in.p[1]) % 31 == 0;
}

static enum sf_err zlib_or_raw(struct run *r)
{
    uint8_t first[2];
    sf_bytes head = {first, 0}, rest;
    enum sf_err err;
    size_t n_left;
    int status;

    /* The two bytes may come in two pieces: they are fed by themselves. */
    while (head.len < 2 && !r->is_ended) {
        err = fill(r);
        if (err)
            return err;
        if (r->piece.len) {
            first[head.len++] = r->piece.p[0];
            consume(r, 1);
        }
    }
    err = start_zlib(r, is_zlib_header(head) ? 15 : -15);
    if (err)
        return err;
    rest = r->piece;
    r->piece = head;
    r->consumed = 0;
    err = zlib_step(r, &status);
    n_left = r->piece.len;
    r->piece = rest;
    if (!err && n_left == 0 && (status == Z_OK || status == Z_BUF_ERROR))
        err = zlib_stream(r);
    else if (!err && (n_left || status != Z_STREAM_END))
        err = bad(r, head.len ? "damaged" : "truncated");
    if (!err)
        err = fill(r);
    if (err)
        return err;
    return r->piece.len ? bad(r, "followed by something else") : SF_OK;
}

static bool is_believable(uint64_t len, size_t in_len, size_t max_len)
{
    return len <= max_len && len / 64 <= in_len;
}

/* True when the whole body was one gzip member of the size it claims. */
static bool gzip_whole(struct run *r)
{
    struct sf_inflate *z = r->z;
    sf_bytes in = r->piece;
    size_t used = 0, made = 0, claimed;
    uint8_t *to;

    if (in.len < 18)
        return false;
    claimed = sf_load_u32le(in.p + in.len - 4);
    if (!is_believable(claimed, in.len, r->max_len))
        return false;
    if (!z->whole)
        z->whole = libdeflate_alloc_decompressor();
    if (!z->whole || !sf_buf_reserve(r->out, claimed + 1))
        return false;
    to = r->out->p + r->out->len;
    if (libdeflate_gzip_decompress_ex(z->whole, in.p, in.len, to, claimed, &used, &made) !=
            LIBDEFLATE_SUCCESS ||
        used != in.len)
        return false;
    r->out->len += made;
    return true;
}

/* ---- zstd ---- */

static enum sf_err start_zstd(struct run *r)
{
    if (!r->z->zstd) {
        r->z->zstd = ZSTD_createDCtx_advanced(
            (ZSTD_customMem){sf_zmem_zstd_new, sf_zmem_any_free, NULL});
        if (!r->z->zstd)
            return no_memory(r);
    }
    ZSTD_DCtx_reset(r->z->zstd, ZSTD_reset_session_only);
    ZSTD_DCtx_setParameter(r->z->zstd, ZSTD_d_windowLogMax, WINDOW_LOG);
    return SF_OK;
}

static enum sf_err zstd_fault(struct run *r, size_t status)
{
    switch (ZSTD_getErrorCode(status)) {
    case ZSTD_error_memory_allocation: return no_memory(r);
    case ZSTD_error_frameParameter_windowTooLarge:
        return sf_fail(r->why, SF_ERR_LIMIT, "%s: window above %d MiB at byte %llu", r->name,
                       (1 << WINDOW_LOG) >> 20, (unsigned long long)r->consumed);
    case ZSTD_error_prefix_unknown: return bad(r, "not a zstd frame");
    default: return bad(r, "damaged");
    }
}

/* The library, fed piece by piece, lets a frame pass that ends with an empty block before it has
 * the size its header declares. Whole, it refuses such a frame; so do we. */
struct frame {
    uint8_t head[ZSTD_FRAMEHEADERSIZE_MAX];
    size_t head_len;
    uint64_t made_len;
};

static void see_frame(struct frame *f, const uint8_t *p, size_t len)
{
    size_t left = sizeof(f->head) - f->head_len;
    if (len > left)
        len = left;
    if (len)
        memcpy(f->head + f->head_len, p, len);
    f->head_len += len;
}

/* Frames of old versions of the format have other numbers, and are never taken for one that goes
 * on: the library waits for their ends in its own way. */
static bool is_begun(const struct frame *f)
{
    return f->head_len >= 4 && sf_load_u32le(f->head) == ZSTD_MAGICNUMBER;
}

/* It is complete: false when it declared another size. */
static bool end_frame(struct frame *f)
{
    unsigned long long claimed = ZSTD_getFrameContentSize(f->head, f->head_len);
    bool is_right = f->head_len == 0 || claimed == ZSTD_CONTENTSIZE_UNKNOWN ||
                    claimed == ZSTD_CONTENTSIZE_ERROR || claimed == f->made_len;
    *f = (struct frame){0};
    return is_right;
}

static enum sf_err zstd_frames(struct run *r)
{
    size_t status = 1; /* 0: a frame is complete */
    uint8_t spare[32];
    bool had_any = false;
    struct frame frame = {0};

    for (;;) {
        ZSTD_outBuffer to = {0};
        ZSTD_inBuffer from;
        uint8_t *p;
        enum sf_err err = fill(r);
        if (err)
            return err;
        if (r->piece.len == 0 && status == 0 && had_any)
            return SF_OK;
        if (!make_room(r, spare, sizeof(spare), &p, &to.size))
            return buffer_fault(r);
        to.dst = p;
        from = (ZSTD_inBuffer){r->piece.p, r->piece.len, 0};
        status = ZSTD_decompressStream(r->z->zstd, &to, &from);
        if (ZSTD_isError(status))
            return zstd_fault(r, status);
        see_frame(&frame, r->piece.p, from.pos);
        consume(r, from.pos);
        if (p == spare && to.pos)
            return too_long(r);
        if (p != spare)
            r->out->len += to.pos;
        frame.made_len += to.pos;
        if (status == 0 && !end_frame(&frame))
            return bad(r, "damaged");
        had_any |= from.pos > 0;
        if (r->is_ended && r->piece.len == 0 && to.pos == 0 && status != 0)
            return r->is_open && is_begun(&frame) ? SF_OK : bad(r, "truncated");
    }
}

/* True when the whole body was one zstd frame of the size it claims. */
static bool zstd_whole(struct run *r)
{
    sf_bytes in = r->piece;
    unsigned long long claimed = ZSTD_getFrameContentSize(in.p, in.len);
    size_t made;

    if (claimed == ZSTD_CONTENTSIZE_UNKNOWN || claimed == ZSTD_CONTENTSIZE_ERROR ||
        !is_believable(claimed, in.len, r->max_len) ||
        ZSTD_findFrameCompressedSize(in.p, in.len) != in.len ||
        !sf_buf_reserve(r->out, claimed + 1))
        return false;
    made = ZSTD_decompressDCtx(r->z->zstd, r->out->p + r->out->len, claimed, in.p, in.len);
    if (ZSTD_isError(made) || made != claimed)
        return false;
    r->out->len += made;
    return true;
}

static enum sf_err zstd_body(struct run *r)
{
    enum sf_err err = start_zstd(r);
    if (err)
        return err;
    if (r->pull || !zstd_whole(r)) {
        r->out->err = SF_OK; /* a reservation too large for the fast way is no fault */
        err = start_zstd(r);
        if (!err)
            err = zstd_frames(r);
    }
    if (ZSTD_sizeof_DCtx(r->z->zstd) > KEEP_LEN) {
        ZSTD_freeDCtx(r->z->zstd);
        r->z->zstd = NULL;
    }
    return err;
}

static enum sf_err gzip_body(struct run *r)
{
    if (!r->pull && gzip_whole(r))
        return SF_OK;
    r->out->err = SF_OK;
    return gzip_members(r);
}

static enum sf_err inflate_run(struct run *r, enum sf_inflate_kind kind)
{
    static const char *const names[] = {"gzip", "deflate", "zstd", "zstd"};
    enum sf_err err;

    if (!sf_buf_ok(r->out))
        return r->out->err;
    r->name = names[kind];
    r->is_open = kind == SF_INFLATE_ZSTD_OPEN;
    r->out_from = r->out->len;
    err = kind == SF_INFLATE_GZIP   ? gzip_body(r)
          : kind != SF_INFLATE_ZLIB ? zstd_body(r)
                                    : zlib_or_raw(r);
    if (err) {
        r->out->len = r->out_from;
        r->out->err = SF_OK;
    }
    return err;
}

enum sf_err sf_inflate_bytes(struct sf_inflate *z, enum sf_inflate_kind kind, sf_bytes in,
                             size_t max_len, struct sf_buf *out, struct sf_why *why)
{
    struct run r = {.z = z, .piece = in, .max_len = max_len, .out = out, .why = why};
    return inflate_run(&r, kind);
}

enum sf_err sf_inflate_stream(struct sf_inflate *z, enum sf_inflate_kind kind, sf_inflate_pull pull,
                              void *arg, size_t max_len, struct sf_buf *out, struct sf_why *why)
{
    struct run r = {.z = z, .pull = pull, .arg = arg, .max_len = max_len, .out = out, .why = why};
    return inflate_run(&r, kind);
}
