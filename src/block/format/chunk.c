#include "block/format/chunk.h"

#define ZSTD_STATIC_LINKING_ONLY    /* for setting an allocator (compressor) and static contexts \
                                       (decompressor) */
#include <zstd.h>

#include <stdatomic.h>

#include "base/account.h"
#include "base/heap.h"
#include "base/invariant.h"
#include "base/num.h"

enum { LEVEL = 1, MIN_LEN = 48, MAX_CONTEXTS = 8 };

struct sf_chunk_packer {
    ZSTD_CCtx *ctx;
    size_t memory;
};

void sf_chunk_desc_encode(struct sf_buf *out, const struct sf_chunk_desc *d)
{
    sf_buf_add_u16le(out, d->column);
    sf_buf_add_u8(out, d->encoding);
    sf_buf_add_u8(out, d->codec);
    sf_buf_add_u32le(out, d->n_values);
    sf_buf_add_u32le(out, d->cardinality);
    sf_buf_add_u32le(out, d->stored_len);
    sf_buf_add_u64le(out, d->off);
    sf_buf_add_u32le(out, d->raw_len);
    sf_buf_add_u32le(out, d->checksum);
}

struct sf_chunk_desc sf_chunk_desc_decode(const uint8_t p[SF_CHUNK_DESC_LEN])
{
    return (struct sf_chunk_desc){
        .column = sf_load_u16le(p),
        .encoding = p[2],
        .codec = p[3],
        .n_values = sf_load_u32le(p + 4),
        .cardinality = sf_load_u32le(p + 8),
        .stored_len = sf_load_u32le(p + 12),
        .off = sf_load_u64le(p + 16),
        .raw_len = sf_load_u32le(p + 24),
        .checksum = sf_load_u32le(p + 28),
    };
}

static void *heap_new(void *arg, size_t size)
{
    (void)arg;
    return sf_heap_grow(NULL, size, 1); /* need not be zeroed */
}

static void heap_free(void *arg, void *p)
{
    (void)arg;
    sf_heap_free(p);
}

struct sf_chunk_packer *sf_chunk_packer_new(void)
{
    struct sf_chunk_packer *p = sf_heap_new(sizeof(*p));
    if (!p)
        return NULL;
    p->ctx = ZSTD_createCCtx_advanced((ZSTD_customMem){heap_new, heap_free, NULL});
    if (!p->ctx) {
        sf_heap_free(p);
        return NULL;
    }
    ZSTD_CCtx_setParameter(p->ctx, ZSTD_c_compressionLevel, LEVEL);
    return p;
}

void sf_chunk_packer_free(struct sf_chunk_packer *p)
{
    if (!p)
        return;
    ZSTD_freeCCtx(p->ctx);
    sf_heap_free(p);
}

size_t sf_chunk_packer_memory(const struct sf_chunk_packer *p)
{
    return p ? ZSTD_sizeof_CCtx(p->ctx) : 0;
}

bool sf_chunk_is_plausible(uint8_t codec, uint64_t stored_len, uint64_t raw_len)
{
    if (codec == SF_CODEC_NONE)
        return stored_len == raw_len;
    return codec == SF_CODEC_ZSTD && raw_len / SF_CODEC_MAX_RATIO <= stored_len;
}

uint8_t sf_chunk_pack(struct sf_chunk_packer *p, struct sf_buf *out, sf_bytes raw)
{
    size_t start = out->len, got;

    if (p && raw.len >= MIN_LEN) {
        size_t bound = ZSTD_compressBound(raw.len);
        uint8_t *to = sf_buf_take(out, bound);
        if (!to)
            return SF_CODEC_NONE;
        got = ZSTD_compress2(p->ctx, to, bound, raw.p, raw.len);
        if (ZSTD_isError(got)) {
            /* The output has space for the bound, so the only possible error is a lack of
             * memory. */
            out->err = SF_ERR_NOMEM;
            return SF_CODEC_NONE;
        }
        out->len = start + got;
        /* A gain of less than 3 % does not pay for decompressing. */
        if (got < raw.len - raw.len / 32 && sf_chunk_is_plausible(SF_CODEC_ZSTD, got, raw.len))
            return SF_CODEC_ZSTD;
        out->len = start;
    }
    sf_buf_add(out, raw.p, raw.len);
    return SF_CODEC_NONE;
}

/* Decompressors are cached: creating one reads the processor's features (CPUID), which takes
 * microseconds in a virtual machine, as long as decompressing a small chunk. Eight of 160 KB serve
 * as many threads; a further thread makes one in its own scratch memory. */
static struct {
    _Atomic(ZSTD_DCtx *) unused[MAX_CONTEXTS];
    atomic_uint n_made;
} contexts;

static ZSTD_DCtx *make_context(void)
{
    size_t size = ZSTD_estimateDCtxSize();
    struct sf_account *paused;
    void *memory;
    if (atomic_fetch_add(&contexts.n_made, 1) >= MAX_CONTEXTS) {
        atomic_fetch_sub(&contexts.n_made, 1);
        return NULL;
    }
    paused = sf_account_pause(); /* shared by later queries: not charged to this one */
    memory = sf_heap_pages(size);
    sf_account_resume(paused);
    if (!memory)
        atomic_fetch_sub(&contexts.n_made, 1);
    return memory ? ZSTD_initStaticDCtx(memory, size) : NULL;
}

/* NULL: all are in use. */
static ZSTD_DCtx *take_context(void)
{
    for (unsigned i = 0; i < MAX_CONTEXTS; i++) {
        ZSTD_DCtx *ctx = atomic_exchange(&contexts.unused[i], NULL);
        if (ctx)
            return ctx;
    }
    return make_context();
}

static void give_context(ZSTD_DCtx *ctx)
{
    for (unsigned i = 0; i < MAX_CONTEXTS; i++) {
        ZSTD_DCtx *none = NULL;
        if (atomic_compare_exchange_strong(&contexts.unused[i], &none, ctx))
            return;
    }
    SF_ASSERT(false); /* there are as many slots as contexts */
}

enum sf_err sf_chunk_unpack(uint8_t codec, sf_bytes stored, uint8_t *to, size_t raw_len,
                            struct sf_arena scratch)
{
    ZSTD_DCtx *ctx, *kept;
    size_t got;

    if (!sf_chunk_is_plausible(codec, stored.len, raw_len))
        return SF_ERR_CORRUPT;
    if (codec == SF_CODEC_NONE) {
        if (raw_len)
            memcpy(to, stored.p, raw_len);
        return SF_OK;
    }
    ctx = kept = take_context();
    if (!ctx) {
        size_t size = ZSTD_estimateDCtxSize();
        void *memory = sf_arena_raw(&scratch, size, 64);
        ctx = memory ? ZSTD_initStaticDCtx(memory, size) : NULL;
    }
    if (!ctx)
        return SF_ERR_LIMIT;
    got = ZSTD_decompressDCtx(ctx, to, raw_len, stored.p, stored.len);
    if (kept)
        give_context(kept);
    return got == raw_len ? SF_OK : SF_ERR_CORRUPT;
}
