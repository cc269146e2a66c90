#define ZSTD_STATIC_LINKING_ONLY /* for the allocator of a context */
#include "wire/deflate.h"

#include <libdeflate.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/heap.h"
#include "wire/zmem.h"

struct sf_deflate {
    struct libdeflate_compressor *gzip;
    int gzip_level;
    ZSTD_CCtx *zstd;
};

struct sf_deflate *sf_deflate_new(void)
{
    sf_zmem_libdeflate();
    return sf_heap_new(sizeof(struct sf_deflate));
}

void sf_deflate_free(struct sf_deflate *z)
{
    if (!z)
        return;
    libdeflate_free_compressor(z->gzip);
    ZSTD_freeCCtx(z->zstd);
    sf_heap_free(z);
}

/* Only reserves the maximum length; the buffer's length grows by the actual result. A limited
 * buffer may refuse this although the result would fit: callers use limits far above one answer. */
static uint8_t *room_for(struct sf_buf *out, size_t bound)
{
    return sf_buf_reserve(out, bound) ? out->p + out->len : NULL;
}

static enum sf_err deflate_no_room(struct sf_buf *out, const char *name, struct sf_why *why)
{
    enum sf_err err = out->err;
    out->err = SF_OK;
    return sf_fail(why, err, "%s: no room to compress into", name);
}

enum sf_err sf_deflate_gzip(struct sf_deflate *z, int level, sf_bytes in, struct sf_buf *out,
                            struct sf_why *why)
{
    size_t bound, len;
    uint8_t *to;

    if (!sf_buf_ok(out))
        return out->err;
    if (!z->gzip || z->gzip_level != level) {
        libdeflate_free_compressor(z->gzip);
        z->gzip = libdeflate_alloc_compressor(level);
        z->gzip_level = level;
        if (!z->gzip)
            return sf_fail(why, SF_ERR_NOMEM, "gzip: no memory to compress");
    }
    bound = libdeflate_gzip_compress_bound(z->gzip, in.len);
    to = room_for(out, bound);
    if (!to)
        return deflate_no_room(out, "gzip", why);
    len = libdeflate_gzip_compress(z->gzip, in.p, in.len, to, bound);
    out->len += len; /* never 0: the maximum length is sufficient */
    return SF_OK;
}

enum sf_err sf_deflate_zstd(struct sf_deflate *z, int level, bool has_checksum, sf_bytes in,
                            struct sf_buf *out, struct sf_why *why)
{
    size_t bound = ZSTD_compressBound(in.len), len;
    uint8_t *to;

    if (!sf_buf_ok(out))
        return out->err;
    if (!z->zstd) {
        z->zstd = ZSTD_createCCtx_advanced(
            (ZSTD_customMem){sf_zmem_zstd_new, sf_zmem_any_free, NULL});
        if (!z->zstd)
            return sf_fail(why, SF_ERR_NOMEM, "zstd: no memory to compress");
    }
    to = room_for(out, bound);
    if (!to)
        return deflate_no_room(out, "zstd", why);
    ZSTD_CCtx_reset(z->zstd, ZSTD_reset_session_only);
    ZSTD_CCtx_setParameter(z->zstd, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(z->zstd, ZSTD_c_checksumFlag, has_checksum);
    len = ZSTD_compress2(z->zstd, to, bound, in.p, in.len);
    if (ZSTD_isError(len)) /* only memory can be exhausted: parameters and space are correct */
        return sf_fail(why, SF_ERR_NOMEM, "zstd: %s", ZSTD_getErrorName(len));
    out->len += len;
    return SF_OK;
}

/* ---- streaming ---- */

struct sf_deflate_stream {
    z_stream z;
};

struct sf_deflate_stream *sf_deflate_stream_new(int level)
{
    enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };
    struct sf_deflate_stream *s = sf_heap_new(sizeof(*s));
    if (!s)
        return NULL;
    s->z.zalloc = sf_zmem_zlib_new;
    s->z.zfree = sf_zmem_any_free;
    if (deflateInit2(&s->z, level, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) ==
        Z_OK)
        return s;
    sf_heap_free(s);
    return NULL;
}

void sf_deflate_stream_free(struct sf_deflate_stream *s)
{
    if (s)
        deflateEnd(&s->z);
    sf_heap_free(s);
}

enum sf_err sf_deflate_stream_add(struct sf_deflate_stream *s, sf_bytes in, bool is_last,
                                  struct sf_buf *out, struct sf_why *why)
{
    enum { ROOM_LEN = 16 << 10 };
    int result;
    s->z.next_in = (Bytef *)(uintptr_t)in.p;
    s->z.avail_in = (uInt)in.len;
    do {
        if (!sf_buf_reserve(out, ROOM_LEN))
            return deflate_no_room(out, "gzip", why);
        s->z.next_out = out->p + out->len;
        s->z.avail_out = ROOM_LEN;
        result = deflate(&s->z, is_last ? Z_FINISH : Z_NO_FLUSH);
        out->len += ROOM_LEN - s->z.avail_out;
    } while (result == Z_OK && s->z.avail_out == 0);
    return SF_OK;
}
