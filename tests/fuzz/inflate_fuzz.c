/* The first byte picks the kind and the size of the pieces, the rest is inflated: from memory and
 * in pieces, with the same outcome, never past the cap. The rest packed and inflated is itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "wire/deflate.h"
#include "wire/inflate.h"

enum { CAP = 1 << 16 };

struct pieces {
    sf_bytes rest;
    size_t step;
};

static enum sf_err next_piece(void *arg, sf_bytes *piece, struct sf_why *why)
{
    struct pieces *p = arg;
    size_t len = p->rest.len < p->step ? p->rest.len : p->step;
    (void)why;
    *piece = (sf_bytes){p->rest.p, len};
    p->rest.p += len;
    p->rest.len -= len;
    return SF_OK;
}

static void check_both_ways(struct sf_inflate *z, enum sf_inflate_kind kind, sf_bytes in,
                            size_t step)
{
    struct sf_buf whole = {0}, streamed = {0};
    struct pieces pieces = {in, step};
    struct sf_why why;
    enum sf_err err = sf_inflate_bytes(z, kind, in, CAP, &whole, &why);
    enum sf_err streamed_err = sf_inflate_stream(z, kind, next_piece, &pieces, CAP, &streamed,
                                                 &why);

    SF_ASSERT(err == SF_OK || err == SF_ERR_INPUT || err == SF_ERR_LIMIT);
    SF_ASSERT(whole.len <= CAP && streamed.len <= CAP);
    /* Whole, zstd needs no window; in pieces a wide one is refused. */
    SF_ASSERT(err == streamed_err ||
              (kind >= SF_INFLATE_ZSTD && !err && streamed_err == SF_ERR_LIMIT));
    if (!err && !streamed_err)
        SF_ASSERT(sf_str_eq(sf_buf_str(&whole), sf_buf_str(&streamed)));
    sf_buf_done(&whole);
    sf_buf_done(&streamed);
}

static void check_round_trip(struct sf_inflate *z, sf_bytes in)
{
    static struct sf_deflate *d;
    struct sf_buf packed = {0}, out = {0};
    if (!d)
        d = sf_deflate_new();
    SF_ASSERT(d && !sf_deflate_gzip(d, 1, in, &packed, NULL));
    SF_ASSERT(!sf_inflate_bytes(z, SF_INFLATE_GZIP, sf_buf_bytes(&packed), in.len, &out, NULL));
    SF_ASSERT(sf_str_eq(sf_buf_str(&out), sf_bytes_str(in)));
    sf_buf_reset(&packed);
    sf_buf_reset(&out);
    SF_ASSERT(!sf_deflate_zstd(d, 1, true, in, &packed, NULL));
    SF_ASSERT(!sf_inflate_bytes(z, SF_INFLATE_ZSTD, sf_buf_bytes(&packed), in.len, &out, NULL));
    SF_ASSERT(sf_str_eq(sf_buf_str(&out), sf_bytes_str(in)));
    sf_buf_done(&packed);
    sf_buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sf_inflate *z;
    uint8_t *copy;
    if (size == 0)
        return 0;
    if (!z)
        z = sf_inflate_new();
    copy = malloc(size > 1 ? size - 1 : 1);
    SF_ASSERT(z && copy);
    memcpy(copy, data + 1, size - 1);
    check_both_ways(z, (enum sf_inflate_kind)(data[0] % 3), (sf_bytes){copy, size - 1},
                    data[0] / 3 + 1u);
    if (data[0] % 3 == SF_INFLATE_ZSTD)
        check_both_ways(z, SF_INFLATE_ZSTD_OPEN, (sf_bytes){copy, size - 1}, data[0] / 3 + 1u);
    check_round_trip(z, (sf_bytes){copy, size - 1});
    free(copy);
    return 0;
}
