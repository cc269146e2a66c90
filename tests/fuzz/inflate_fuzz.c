/* The first byte picks the kind, the rest is inflated: alone, and behind a member or frame with
 * nothing in it, which makes its size a secret; with the same outcome, never past the cap. What
 * zlib takes is taken, to the same bytes. The rest packed and inflated is itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/invariant.h"
#include "wire/deflate.h"
#include "wire/inflate.h"

enum { CAP = 1 << 16 };

/* A member, or a skippable frame, with nothing in it. */
static const uint8_t empty_gzip[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3,
                                     3,    0,    0, 0, 0, 0, 0, 0, 0, 0};
static const uint8_t empty_zstd[] = {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0};

/* What zlib makes of the members of a gzip body: false when it refuses or there is too much. */
static bool zlib_takes(sf_bytes in, struct sf_buf *out)
{
    z_stream s = {0};
    int status;
    SF_ASSERT(inflateInit2(&s, 15 + 16) == Z_OK && sf_buf_reserve(out, CAP + 1));
    s.next_in = (Bytef *)(uintptr_t)in.p;
    s.avail_in = (uInt)in.len;
    s.next_out = out->p;
    s.avail_out = CAP + 1;
    do {
        status = inflate(&s, Z_FINISH);
        if (status == Z_STREAM_END && s.avail_in)
            inflateReset(&s);
    } while (status == Z_STREAM_END && s.avail_in);
    inflateEnd(&s);
    out->len = CAP + 1 - s.avail_out;
    return status == Z_STREAM_END && out->len <= CAP;
}

static void check_outcome(struct sf_inflate *z, enum sf_inflate_kind kind, sf_bytes in)
{
    bool is_zstd = kind >= SF_INFLATE_ZSTD;
    struct sf_buf alone = {0}, behind = {0}, both = {0};
    enum sf_err err = sf_inflate_bytes(z, kind, in, CAP, &alone, NULL), behind_err;

    SF_ASSERT(err == SF_OK || err == SF_ERR_INPUT || err == SF_ERR_LIMIT);
    SF_ASSERT(alone.len <= CAP);
    if (kind == SF_INFLATE_GZIP && zlib_takes(in, &both))
        SF_ASSERT(!err && sf_str_eq(sf_buf_str(&alone), sf_buf_str(&both)));
    sf_buf_reset(&both);
    if (kind != SF_INFLATE_ZLIB && in.len) {
        sf_buf_add(&both, is_zstd ? empty_zstd : empty_gzip,
                   is_zstd ? sizeof(empty_zstd) : sizeof(empty_gzip));
        sf_buf_add(&both, in.p, in.len);
        behind_err = sf_inflate_bytes(z, kind, sf_buf_bytes(&both), CAP, &behind, NULL);
        /* Alone, zstd needs no window when it knows the size; behind others a wide one is refused.
         */
        SF_ASSERT(err == behind_err || (is_zstd && !err && behind_err == SF_ERR_LIMIT));
        SF_ASSERT(behind_err || sf_str_eq(sf_buf_str(&alone), sf_buf_str(&behind)));
    }
    sf_buf_done(&alone);
    sf_buf_done(&behind);
    sf_buf_done(&both);
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
    check_outcome(z, (enum sf_inflate_kind)(data[0] % 3), (sf_bytes){copy, size - 1});
    if (data[0] % 3 == SF_INFLATE_ZSTD)
        check_outcome(z, SF_INFLATE_ZSTD_OPEN, (sf_bytes){copy, size - 1});
    check_round_trip(z, (sf_bytes){copy, size - 1});
    free(copy);
    return 0;
}
