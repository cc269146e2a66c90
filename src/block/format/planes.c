/* At -O2 gcc uses vector instructions only where it costs no additional code. clang does anyway. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

#include "block/format/planes.h"

#include <string.h>

#include "base/num.h"

enum { SAMPLES = 64 };

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The largest number that divides every difference to min. For most columns it is 1, which a few
 * samples show; only if they have a common divisor are all values tested. */
static uint64_t find_divisor(const uint64_t *vals, size_t n, uint64_t min)
{
    size_t step = n / SAMPLES + 1;
    uint64_t g = 0;

    for (size_t i = 0; i < n && g != 1; i += step)
        g = gcd(vals[i] - min, g);
    for (size_t i = 0; i < n && g != 1; i++) {
        uint64_t q = vals[i] - min;
        if (g == 0 || q % g != 0)
            g = gcd(q, g);
    }
    return g ? g : 1;
}

static uint8_t width_of(uint64_t q)
{
    return q ? (uint8_t)((64 - __builtin_clzll(q) + 7) / 8) : 0;
}

struct sf_planes sf_planes_plan(const uint64_t *vals, size_t n)
{
    struct sf_planes p = {.divisor = 1};
    uint64_t low = UINT64_MAX, high = 0, range;
    int64_t signed_low = INT64_MAX, signed_high = INT64_MIN;

    if (n == 0)
        return p;
    for (size_t i = 0; i < n; i++) {
        uint64_t v = vals[i];
        int64_t s = (int64_t)v;
        low = v < low ? v : low;
        high = v > high ? v : high;
        signed_low = s < signed_low ? s : signed_low;
        signed_high = s > signed_high ? s : signed_high;
    }
    range = high - low;
    p.min = low;
    if ((uint64_t)signed_high - (uint64_t)signed_low < range) {
        p.min = (uint64_t)signed_low;
        range = (uint64_t)signed_high - (uint64_t)signed_low;
    }
    p.width = width_of(range);
    if (p.width > 1) {
        p.divisor = find_divisor(vals, n, p.min);
        p.width = width_of(range / p.divisor);
    }
    return p;
}

static void encode_plane(uint8_t *restrict to, const uint64_t *restrict vals, size_t n,
                         uint64_t min, unsigned shift)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)((vals[i] - min) >> shift);
}

void sf_planes_encode(struct sf_buf *out, const uint64_t *vals, size_t n)
{
    struct sf_planes p = sf_planes_plan(vals, n);
    uint8_t *to = sf_buf_take(out, SF_PLANES_HEAD_LEN + p.width * n);

    if (!to)
        return;
    sf_store_u64le(to, p.min);
    sf_store_u64le(to + 8, p.divisor);
    to[16] = p.width;
    to += SF_PLANES_HEAD_LEN;
    if (p.divisor == 1) {
        for (unsigned w = 0; w < p.width; w++)
            encode_plane(to + w * n, vals, n, p.min, 8 * w);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t q = (vals[i] - p.min) / p.divisor;
        for (unsigned w = 0; w < p.width; w++)
            to[w * n + i] = (uint8_t)(q >> (8 * w));
    }
}

void sf_planes_encode_codes(struct sf_buf *out, const uint32_t *codes, size_t n, unsigned width)
{
    uint8_t *to = sf_buf_take(out, width * n);
    if (!to)
        return;
    for (unsigned w = 0; w < width; w++) {
        uint8_t *restrict plane = to + w * n;
        for (size_t i = 0; i < n; i++)
            plane[i] = (uint8_t)(codes[i] >> (8 * w));
    }
}

bool sf_planes_parse(sf_bytes *in, size_t n, struct sf_planes *out)
{
    struct sf_planes p;
    size_t len;

    if (in->len < SF_PLANES_HEAD_LEN)
        return false;
    p.min = sf_load_u64le(in->p);
    p.divisor = sf_load_u64le(in->p + 8);
    p.width = in->p[16];
    p.bytes = in->p + SF_PLANES_HEAD_LEN;
    if (p.width > 8 || !sf_mul_size(n, p.width, &len) || len > in->len - SF_PLANES_HEAD_LEN)
        return false;
    in->p += SF_PLANES_HEAD_LEN + len;
    in->len -= SF_PLANES_HEAD_LEN + len;
    *out = p;
    return true;
}

bool sf_planes_may_have(const struct sf_planes *p, size_t n, uint64_t v)
{
    uint64_t high = p->width == 8 ? UINT64_MAX : (UINT64_C(1) << p->width * 8) - 1, q;
    const uint8_t *at = p->bytes, *end = p->bytes + n;

    if (p->width == 0)
        return v == p->min;
    if (p->divisor == 0 || high > UINT64_MAX / p->divisor)
        return true; /* values may wrap */
    q = (v - p->min) / p->divisor;
    if ((v - p->min) % p->divisor || q > high)
        return false;
    while (at < end && (at = memchr(at, (int)(q & 255), (size_t)(end - at)))) {
        unsigned plane = 1;
        while (plane < p->width && at[plane * n] == (uint8_t)(q >> plane * 8))
            plane++;
        if (plane == p->width)
            return true;
        at++;
    }
    return false;
}

/* Up to four planes, and a divisor below 2^32: the products of the halves, which compilers turn
 * into vector instructions. */
static void decode_narrow(const uint8_t *restrict b, size_t n, unsigned width, uint64_t min,
                          uint32_t divisor, uint64_t *restrict out)
{
    switch (width) {
    case 1:
        for (size_t i = 0; i < n; i++)
            out[i] = min + (uint64_t)b[i] * divisor;
        return;
    case 2:
        for (size_t i = 0; i < n; i++)
            out[i] = min + (uint64_t)(b[i] | (uint32_t)b[n + i] << 8) * divisor;
        return;
    case 3:
        for (size_t i = 0; i < n; i++)
            out[i] = min +
                     (uint64_t)(b[i] | (uint32_t)b[n + i] << 8 | (uint32_t)b[2 * n + i] << 16) *
                         divisor;
        return;
    default:
        for (size_t i = 0; i < n; i++)
            out[i] = min + (uint64_t)(b[i] | (uint32_t)b[n + i] << 8 |
                                      (uint32_t)b[2 * n + i] << 16 | (uint32_t)b[3 * n + i] << 24) *
                               divisor;
        return;
    }
}

void sf_planes_decode(const struct sf_planes *p, size_t n, uint64_t *restrict out)
{
    const uint8_t *restrict b = p->bytes;
    uint64_t min = p->min, divisor = p->divisor;

    if (p->width == 0) {
        for (size_t i = 0; i < n; i++)
            out[i] = min;
    } else if (p->width <= 4 && divisor <= UINT32_MAX) {
        decode_narrow(b, n, p->width, min, (uint32_t)divisor, out);
    } else {
        for (size_t i = 0; i < n; i++)
            out[i] = b[i];
        for (unsigned w = 1; w < p->width; w++) {
            const uint8_t *restrict plane = b + w * n;
            for (size_t i = 0; i < n; i++)
                out[i] |= (uint64_t)plane[i] << (8 * w);
        }
        for (size_t i = 0; i < n; i++)
            out[i] = min + out[i] * divisor;
    }
}

bool sf_planes_decode_codes(const uint8_t *restrict b, size_t n, unsigned width, uint32_t limit,
                            uint32_t *restrict out)
{
    uint32_t high = 0;

    switch (width) {
    case 1:
        for (size_t i = 0; i < n; i++)
            out[i] = b[i];
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            out[i] = b[i] | (uint32_t)b[n + i] << 8;
        break;
    default:
        for (size_t i = 0; i < n; i++)
            out[i] = b[i] | (uint32_t)b[n + i] << 8 | (uint32_t)b[2 * n + i] << 16 |
                     (uint32_t)b[3 * n + i] << 24;
        break;
    }
    for (size_t i = 0; i < n; i++)
        high = out[i] > high ? out[i] : high;
    return n == 0 || high < limit;
}
