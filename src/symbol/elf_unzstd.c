/* lld writes a section as several consecutive frames, binutils as one. */
#define ZSTD_STATIC_LINKING_ONLY /* for the allocator of a context */
#include "symbol/elf_unzstd.h"

#include <zstd.h>

#include "base/heap.h"

enum {
    PIECE = 64 * 1024,
    WINDOW_LOG = 24, /* 16 MiB: linkers do not use a larger window */
};

static void *elf_unzstd_give(void *arg, size_t size)
{
    (void)arg;
    return sf_heap_new(size);
}

static void elf_unzstd_take_back(void *arg, void *p)
{
    (void)arg;
    sf_heap_free(p);
}

bool sf_elf_unzstd_all(sf_bytes in, uint8_t *out, size_t len)
{
    ZSTD_DCtx *z = ZSTD_createDCtx_advanced(
        (ZSTD_customMem){elf_unzstd_give, elf_unzstd_take_back, NULL});
    ZSTD_outBuffer to = {out, len, 0};
    size_t left = 1; /* zstd's hint of what is left of the frame; 0: complete */
    bool ok = z && !ZSTD_isError(ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, WINDOW_LOG));
    while (ok && in.len) {
        sf_bytes some = {in.p, in.len < PIECE ? in.len : PIECE};
        ZSTD_inBuffer from = {some.p, some.len, 0};
        ok = sf_file_pages_has(some);
        while (ok && from.pos < from.size) {
            size_t before = from.pos + to.pos;
            left = ZSTD_decompressStream(z, &to, &from);
            ok = !ZSTD_isError(left) &&
                 from.pos + to.pos > before; /* no progress: it is longer than announced */
        }
        in = (sf_bytes){in.p + some.len, in.len - some.len};
        sf_file_pages_trim();
    }
    ZSTD_freeDCtx(z);
    return ok && !left && to.pos == len;
}
