#include "collect/send/gzip.h"

#include <zlib.h>

#include "base/heap.h"

static void *gzip_take(void *opaque, unsigned n, unsigned size)
{
    (void)opaque;
    return sf_heap_new_n(n, size);
}

static void gzip_give(void *opaque, void *p)
{
    (void)opaque;
    sf_heap_free(p);
}

enum sf_err sf_gzip(sf_bytes in, struct sf_buf *out)
{
    enum {
        LEVEL = 1,
        WINDOW_GZIP = 15 + 16,
        MEMORY = 8
    }; /* fast, because it uses the program's
        * CPU time */
    z_stream z = {.zalloc = gzip_take, .zfree = gzip_give};
    enum sf_err err = SF_ERR_NOMEM;
    uLong bound;
    uint8_t *to;

    sf_buf_reset(out);
    if (in.len > UINT32_MAX / 2)
        return SF_ERR_LIMIT;
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, WINDOW_GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return SF_ERR_NOMEM;
    bound = deflateBound(&z, in.len);
    to = sf_buf_take(out, bound);
    if (to) {
        z.next_in = (Bytef *)(uintptr_t)in.p; /* zlib reads only */
        z.avail_in = (uInt)in.len;
        z.next_out = to;
        z.avail_out = (uInt)bound;
        if (deflate(&z, Z_FINISH) == Z_STREAM_END) {
            out->len = z.total_out;
            err = SF_OK;
        }
    }
    deflateEnd(&z);
    return err;
}
