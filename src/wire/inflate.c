/* Each kind of body is decompressed by one library: gzip by libdeflate, which works on whole
 * buffers at twice the speed of zlib, "deflate" by zlib, zstd by zstd. libdeflate accepts more than
 * zlib (it does not check a header's checksum, and accepts codes that RFC 1951 does not define), so
 * using sometimes one and sometimes the other would make acceptance depend on the size. zlib is
 * only used to find the position of the error in a refused gzip body.
 *
 * A gzip body has its decompressed size in its last four bytes and a zstd frame in its header: if
 * that number is plausible, the output is reserved once. It is plausible within the limit and
 * within 64 times the input, so that a few malicious bytes cannot reserve much. */
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
    WINDOW_LOG = 23,       /* 8 MiB, which RFC 8878 requires of every decoder */
    KEEP_LEN = 1 << 20,    /* a zstd context that has grown larger because of a wide window is
                            * freed */
    GROW_LEAST = 16 * 1024 /* minimum growth of the output */
};

struct sf_inflate {
    struct libdeflate_decompressor *gzip; /* created when first needed, like the others */
    z_stream zlib;
    bool has_zlib;
    ZSTD_DCtx *zstd;
};

/* State of one call: the remaining input, and the output. */
struct run {
    struct sf_inflate *z;
    sf_bytes in;
    uint64_t consumed; /* bytes before `in` */
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
    if (z->gzip)
        libdeflate_free_decompressor(z->gzip);
    if (z->has_zlib)
        inflateEnd(&z->zlib);
    ZSTD_freeDCtx(z->zstd);
    sf_heap_free(z);
}

static enum sf_err inflate_no_memory(struct run *r)
{
    return sf_fail(r->why, SF_ERR_NOMEM, "%s: no memory to inflate", r->name);
}

static enum sf_err inflate_bad(struct run *r, const char *what)
{
    return sf_fail(r->why, SF_ERR_INPUT, "%s: %s at byte %llu", r->name, what,
                   (unsigned long long)r->consumed);
}

static enum sf_err too_long(struct run *r)
{
    return sf_fail(r->why, SF_ERR_LIMIT, "%s: inflates to more than %zu bytes", r->name,
                   r->max_len);
}

static void consume(struct run *r, size_t len)
{
    r->in.p += len;
    r->in.len -= len;
    r->consumed += len;
}

/* Space for more output. When the limit is reached the libraries get `spare`: if they write
 * anything there, the output is too long; if not, it has exactly the allowed length. */
static bool inflate_make_room(struct run *r, uint8_t *spare, size_t spare_len, uint8_t **out_p,
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
        want = r->out->cap - r->out->len; /* use the available space before growing */
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
    return r->out->err == SF_ERR_LIMIT ? too_long(r) : inflate_no_memory(r);
}

/* ---- gzip and zlib ---- */

static enum sf_err start_zlib(struct run *r, int window_bits)
{
    z_stream *s = &r->z->zlib;
    if (r->z->has_zlib)
        return inflateReset2(s, window_bits) == Z_OK ? SF_OK : inflate_no_memory(r);
    s->zalloc = sf_zmem_zlib_new;
    s->zfree = sf_zmem_any_free;
    if (inflateInit2(s, window_bits) != Z_OK)
        return inflate_no_memory(r);
    r->z->has_zlib = true;
    return SF_OK;
}

/* One step of zlib with the remaining input and the available space. */
static enum sf_err zlib_step(struct run *r, int *out_status)
{
    z_stream *s = &r->z->zlib;
    uint8_t spare[32], *to;
    size_t room, give = r->in.len < (1u << 30) ? r->in.len : 1u << 30;

    if (!inflate_make_room(r, spare, sizeof(spare), &to, &room))
        return buffer_fault(r);
    if (room > 1u << 30)
        room = 1u << 30;
    s->next_in = (Bytef *)(uintptr_t)r->in.p; /* zlib only reads it */
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
        enum sf_err err = zlib_step(r, &status);
        if (err)
            return err;
        if (status == Z_STREAM_END)
            return SF_OK;
        if (status == Z_MEM_ERROR)
            return inflate_no_memory(r);
        if (status != Z_OK && status != Z_BUF_ERROR)
            return inflate_bad(r, status == Z_NEED_DICT ? "needs a dictionary" : "damaged");
        /* No progress is possible only if input is missing: there is always space. */
        if (status == Z_BUF_ERROR && r->in.len == 0)
            return inflate_bad(r, "truncated");
    }
}

/* RFC 9110's "deflate" has a zlib wrapper, but some senders omit it. In practice a raw stream does
 * not look like a zlib header: its first block would be a stored one with invalid bits. */
static bool is_zlib_header(sf_bytes in)
{
    return in.len >= 2 && (in.p[0] & 15) == 8 && in.p[0] >> 4 <= 7 &&
           (in.p[0] * 256 + in.p[1]) % 31 == 0;
}

static enum sf_err zlib_or_raw(struct run *r)
{
    enum sf_err err = start_zlib(r, is_zlib_header(r->in) ? 15 : -15);
    if (!err)
        err = zlib_stream(r);
    if (err)
        return err;
    return r->in.len ? inflate_bad(r, "followed by something else") : SF_OK;
}

static bool is_believable(uint64_t len, size_t in_len, size_t max_len)
{
    return len <= max_len && len / 64 <= in_len;
}

/* The space for a first attempt: the size given in the body, or the available space, or a guess. */
static size_t first_room(const struct run *r, size_t left)
{
    size_t room = r->out->cap - r->out->len, claimed;
    if (r->consumed == 0 && r->in.len >= 18) { /* if it is one member */
        claimed = sf_load_u32le(r->in.p + r->in.len - 4);
        if (is_believable(claimed, r->in.len, left))
            return claimed;
    }
    if (room < GROW_LEAST)
        room = GROW_LEAST;
    return room < left ? room : left;
}

/* libdeflate refused the data at `r->in`: zlib, whose output is discarded, finds the position of
 * the error. */
static enum sf_err gzip_fault(struct run *r)
{
    z_stream *s = &r->z->zlib;
    uint8_t unread[4096];
    enum sf_err err = start_zlib(r, 15 + 16);
    int status = Z_OK;

    if (err)
        return err;
    s->next_in = (Bytef *)(uintptr_t)r->in.p;
    while (status == Z_OK && s->total_out <= r->max_len) {
        size_t give = r->in.len < (1u << 30) ? r->in.len : 1u << 30;
        s->avail_in = (uInt)give;
        s->next_out = unread;
        s->avail_out = sizeof(unread);
        status = inflate(s, Z_NO_FLUSH);
        consume(r, give - s->avail_in);
    }
    if (status == Z_MEM_ERROR)
        return inflate_no_memory(r);
    return inflate_bad(r, status == Z_BUF_ERROR && r->in.len == 0 ? "truncated" : "damaged");
}

/* Decompresses one member. If the space is too small, it is doubled and the member is started
 * again, so that all attempts together cost at most twice the last one. */
static enum sf_err gzip_member(struct run *r)
{
    size_t left = r->max_len - (r->out->len - r->out_from), room = first_room(r, left);
    for (;;) {
        size_t used = 0, made = 0;
        uint8_t none, *to = &none;
        if (room && !sf_buf_reserve(r->out, room))
            return buffer_fault(r);
        if (room)
            to = r->out->p + r->out->len;
        switch (
            libdeflate_gzip_decompress_ex(r->z->gzip, r->in.p, r->in.len, to, room, &used, &made)) {
        case LIBDEFLATE_SUCCESS:
            r->out->len += made;
            consume(r, used);
            return SF_OK;
        case LIBDEFLATE_INSUFFICIENT_SPACE:
            if (room == left)
                return too_long(r);
            room = room < GROW_LEAST / 2 ? GROW_LEAST : room * 2;
            if (room > left)
                room = left;
            break;
        default: return gzip_fault(r);
        }
    }
}

static enum sf_err gzip_members(struct run *r)
{
    enum sf_err err;
    if (!r->z->gzip)
        r->z->gzip = libdeflate_alloc_decompressor();
    if (!r->z->gzip)
        return inflate_no_memory(r);
    do {
        if (r->consumed && r->in.p[0] != 0x1f)
            return inflate_bad(r, "followed by something that is not gzip");
        err = gzip_member(r);
    } while (!err && r->in.len);
    return err;
}

/* ---- zstd ---- */

static enum sf_err start_zstd(struct run *r)
{
    if (!r->z->zstd) {
        r->z->zstd = ZSTD_createDCtx_advanced(
            (ZSTD_customMem){sf_zmem_zstd_new, sf_zmem_any_free, NULL});
        if (!r->z->zstd)
            return inflate_no_memory(r);
    }
    ZSTD_DCtx_reset(r->z->zstd, ZSTD_reset_session_only);
    ZSTD_DCtx_setParameter(r->z->zstd, ZSTD_d_windowLogMax, WINDOW_LOG);
    return SF_OK;
}

static enum sf_err zstd_fault(struct run *r, size_t status)
{
    switch (ZSTD_getErrorCode(status)) {
    case ZSTD_error_memory_allocation: return inflate_no_memory(r);
    case ZSTD_error_frameParameter_windowTooLarge:
        return sf_fail(r->why, SF_ERR_LIMIT, "%s: window above %d MiB at byte %llu", r->name,
                       (1 << WINDOW_LOG) >> 20, (unsigned long long)r->consumed);
    case ZSTD_error_prefix_unknown: return inflate_bad(r, "not a zstd frame");
    default: return inflate_bad(r, "damaged");
    }
}

/* Fed piece by piece, the library accepts a frame that ends with an empty block before it has the
 * size declared in its header. As a whole it refuses such a frame, so this is checked here. */
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

/* Frames of old format versions have other magic numbers and are not tracked here: the library
 * checks their ends itself. */
static bool is_begun(const struct frame *f)
{
    return f->head_len >= 4 && sf_load_u32le(f->head) == ZSTD_MAGICNUMBER;
}

/* The frame is complete: false if it declared another size. */
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
        if (r->in.len == 0 && status == 0 && had_any)
            return SF_OK;
        if (!inflate_make_room(r, spare, sizeof(spare), &p, &to.size))
            return buffer_fault(r);
        to.dst = p;
        from = (ZSTD_inBuffer){r->in.p, r->in.len, 0};
        status = ZSTD_decompressStream(r->z->zstd, &to, &from);
        if (ZSTD_isError(status))
            return zstd_fault(r, status);
        see_frame(&frame, r->in.p, from.pos);
        consume(r, from.pos);
        if (p == spare && to.pos)
            return too_long(r);
        if (p != spare)
            r->out->len += to.pos;
        frame.made_len += to.pos;
        if (status == 0 && !end_frame(&frame))
            return inflate_bad(r, "damaged");
        had_any |= from.pos > 0;
        if (r->in.len == 0 && to.pos == 0 && status != 0)
            return r->is_open && is_begun(&frame) ? SF_OK : inflate_bad(r, "truncated");
    }
}

/* True when the whole body was one zstd frame of the size it claims. */
static bool zstd_whole(struct run *r)
{
    sf_bytes in = r->in;
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
    if (!zstd_whole(r)) {
        r->out->err = SF_OK; /* a failed reservation for the fast path is not an error */
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

enum sf_err sf_inflate_bytes(struct sf_inflate *z, enum sf_inflate_kind kind, sf_bytes in,
                             size_t max_len, struct sf_buf *out, struct sf_why *why)
{
    static const char *const names[] = {"gzip", "deflate", "zstd", "zstd"};
    size_t most = (out->max ? out->max : SF_BUF_MAX) - out->len; /* remaining capacity of the
                                                                  * buffer */
    struct run r = {.z = z, .in = in, .out = out, .why = why};
    enum sf_err err;

    if (!sf_buf_ok(out))
        return out->err;
    r.max_len = max_len < most ? max_len : most;
    r.name = names[kind];
    r.is_open = kind == SF_INFLATE_ZSTD_OPEN;
    r.out_from = out->len;
    err = kind == SF_INFLATE_GZIP   ? gzip_members(&r)
          : kind != SF_INFLATE_ZLIB ? zstd_body(&r)
                                    : zlib_or_raw(&r);
    if (err) {
        out->len = r.out_from;
        out->err = SF_OK;
    }
    return err;
}
