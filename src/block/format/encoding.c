/* encoding.c - encodes lists of strings and numbers. The encoder tries shapes from narrow to
 * general (UUID, IPv4, decimal, hex, plain) and takes the first that fits every string. Decoders
 * check lengths against the input before they allocate. */
#include "block/format/encoding.h"

#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "block/format/planes.h"

enum {
    UUID_LEN = 36,
    MIN_HEX_LEN = 16,
    MAX_HEX_LEN = 4096,
    MAX_DIGITS = 19,
    MAX_PREFIX_LEN = 1024
};

const char *sf_encoding_name(uint8_t enc)
{
    static const char *const NAMES[SF_ENCODINGS] = {"FIX8",   "FIX16", "PLANES", "CODE8", "CODE16",
                                                    "CODE32", "STR",   "UUID",   "HEX",   "IPV4",
                                                    "DEC",    "CONST", "BITS",   "F64",   "SHAPE"};
    return enc < SF_ENCODINGS ? NAMES[enc] : "?";
}

static sf_str encoding_get(const struct sf_str_list *list, uint32_t i)
{
    uint32_t entry = list->order ? list->order[i] : i;
    uint32_t start = entry ? list->ends[entry - 1] : 0;
    return (sf_str){(const char *)list->bytes + start, list->ends[entry] - start};
}

/* ---- texts of a fixed shape ---- */

static bool is_lower_hex(sf_str s)
{
    bool is_hex = true;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        is_hex &= (c >= '0' && c <= '9') | (c >= 'a' && c <= 'f');
    }
    return is_hex;
}

static bool squeeze_uuid(sf_str s, uint8_t out[16])
{
    static const uint8_t PLACES[5][2] = {{0, 8}, {9, 4}, {14, 4}, {19, 4}, {24, 12}};
    char digits[32];
    size_t n = 0;

    if (s.len != UUID_LEN || s.p[8] != '-' || s.p[13] != '-' || s.p[18] != '-' || s.p[23] != '-')
        return false;
    for (int i = 0; i < 5; i++) {
        memcpy(digits + n, s.p + PLACES[i][0], PLACES[i][1]);
        n += PLACES[i][1];
    }
    return is_lower_hex((sf_str){digits, 32}) && sf_hex_decode((sf_str){digits, 32}, out, 16);
}

static bool encode_uuids(struct sf_buf *out, const struct sf_str_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        uint8_t *to = sf_buf_take(out, 16);
        if (!to)
            return true; /* the error is kept in `out` */
        if (!squeeze_uuid(encoding_get(list, i), to))
            return false;
    }
    return true;
}

static bool squeeze_ipv4(sf_str s, uint64_t *out)
{
    uint64_t address = 0;
    size_t at = 0;

    for (int part = 0; part < 4; part++) {
        uint32_t n = 0;
        size_t start = at;
        if (part && (at == s.len || s.p[at++] != '.'))
            return false;
        start = at;
        while (at < s.len && at - start < 3 && s.p[at] >= '0' && s.p[at] <= '9')
            n = n * 10 + (uint32_t)(s.p[at++] - '0');
        if (at == start || n > 255 || (s.p[start] == '0' && at - start > 1))
            return false;
        address = address << 8 | n;
    }
    *out = address;
    return at == s.len;
}

static bool encode_ipv4s(struct sf_buf *out, const struct sf_str_list *list, uint64_t *nums)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (!squeeze_ipv4(encoding_get(list, i), &nums[i]))
            return false;
    }
    sf_planes_encode(out, nums, list->n);
    return true;
}

static size_t encoding_prefix_len(sf_str s)
{
    size_t len = s.len;
    while (len > 0 && s.p[len - 1] >= '0' && s.p[len - 1] <= '9')
        len--;
    return len;
}

/* Strings with a common prefix and a decimal number, either without leading zeros or all of equal
 * length. */
static bool encode_decimals(struct sf_buf *out, const struct sf_str_list *list, uint64_t *nums)
{
    sf_str prefix = encoding_get(list, 0);
    size_t first_digits, start = encoding_prefix_len(prefix);
    bool is_fixed = true, is_plain = true;

    first_digits = prefix.len - start;
    prefix.len = start;
    if (first_digits == 0 || first_digits > MAX_DIGITS || start > MAX_PREFIX_LEN)
        return false;
    for (uint32_t i = 0; i < list->n; i++) {
        sf_str s = encoding_get(list, i);
        size_t digits = s.len - start;
        uint64_t v = 0;
        if (s.len <= start || digits > MAX_DIGITS || memcmp(s.p, prefix.p, start) != 0)
            return false;
        for (size_t k = start; k < s.len; k++) {
            if (s.p[k] < '0' || s.p[k] > '9')
                return false;
            v = v * 10 + (uint64_t)(s.p[k] - '0');
        }
        nums[i] = v;
        is_fixed &= digits == first_digits;
        is_plain &= s.p[start] != '0' || digits == 1;
        if (!is_fixed && !is_plain)
            return false;
    }
    sf_buf_add_u8(out, is_plain ? 0 : (uint8_t)first_digits);
    sf_buf_add_u16le(out, (uint16_t)start);
    sf_buf_add(out, prefix.p, start);
    sf_planes_encode(out, nums, list->n);
    return true;
}

static bool encode_hex(struct sf_buf *out, const struct sf_str_list *list)
{
    size_t len = encoding_get(list, 0).len;

    if (len < MIN_HEX_LEN || len > MAX_HEX_LEN || len % 2)
        return false;
    sf_buf_add_u16le(out, (uint16_t)len);
    for (uint32_t i = 0; i < list->n; i++) {
        sf_str s = encoding_get(list, i);
        uint8_t *to;
        if (s.len != len || !is_lower_hex(s))
            return false;
        to = sf_buf_take(out, len / 2);
        if (to && !sf_hex_decode(s, to, len / 2))
            return false;
    }
    return true;
}

static void encode_plain(struct sf_buf *out, const struct sf_str_list *list, uint64_t *nums)
{
    size_t len = 0;
    uint8_t *to;

    for (uint32_t i = 0; i < list->n; i++) {
        nums[i] = encoding_get(list, i).len;
        len += nums[i];
    }
    sf_planes_encode(out, nums, list->n);
    if (!list->order) {
        sf_buf_add(out, list->bytes, len);
        return;
    }
    to = len ? sf_buf_take(out, len) : NULL;
    for (uint32_t i = 0; to && i < list->n; i++) {
        sf_str s = encoding_get(list, i);
        if (s.len)
            memcpy(to, s.p, s.len);
        to += s.len;
    }
}

uint8_t sf_encoding_strings_encode(struct sf_buf *out, const struct sf_str_list *list,
                                   struct sf_buf *scratch)
{
    size_t start = out->len;
    uint64_t *nums;

    sf_buf_reset(scratch);
    nums = (uint64_t *)(void *)sf_buf_take(scratch, sizeof(*nums) * (list->n + (size_t)1));
    if (!nums || list->n == 0)
        return SF_ENC_STR;
    if (encode_uuids(out, list))
        return SF_ENC_UUID;
    out->len = start;
    if (encode_ipv4s(out, list, nums))
        return SF_ENC_IPV4;
    if (encode_decimals(out, list, nums))
        return SF_ENC_DEC;
    if (encode_hex(out, list))
        return SF_ENC_HEX;
    out->len = start;
    encode_plain(out, list, nums);
    return SF_ENC_STR;
}

/* ---- back ---- */

static enum sf_err decode_uuids(sf_bytes raw, uint32_t n, struct sf_arena *req, sf_str *out)
{
    char *to;
    if (raw.len != (uint64_t)n * 16)
        return SF_ERR_CORRUPT;
    to = sf_arena_raw(req, (size_t)n * UUID_LEN, 1);
    if (!to)
        return SF_ERR_LIMIT;
    for (uint32_t i = 0; i < n; i++, to += UUID_LEN) {
        const uint8_t *p = raw.p + (size_t)i * 16;
        to[8] = to[13] = to[18] = to[23] = '-';
        sf_hex_encode(p, 4, to);
        sf_hex_encode(p + 4, 2, to + 9);
        sf_hex_encode(p + 6, 2, to + 14);
        sf_hex_encode(p + 8, 2, to + 19);
        sf_hex_encode(p + 10, 6, to + 24);
        out[i] = (sf_str){to, UUID_LEN};
    }
    return SF_OK;
}

static enum sf_err decode_hex(sf_bytes raw, uint32_t n, struct sf_arena *req, sf_str *out)
{
    size_t len;
    char *to;

    if (raw.len < 2)
        return SF_ERR_CORRUPT;
    len = sf_load_u16le(raw.p);
    if (len == 0 || len % 2 || (raw.len - 2) / (len / 2) != n || (raw.len - 2) % (len / 2))
        return SF_ERR_CORRUPT;
    to = sf_arena_raw(req, (size_t)n * len, 1);
    if (!to)
        return SF_ERR_LIMIT;
    for (uint32_t i = 0; i < n; i++, to += len) {
        sf_hex_encode(raw.p + 2 + i * (len / 2), len / 2, to);
        out[i] = (sf_str){to, len};
    }
    return SF_OK;
}

/* Writes v in decimal, with at least `width` digits; returns the number of digits. */
static size_t put_decimal(char *to, uint64_t v, size_t width)
{
    char digits[20];
    size_t n = 0, pad;
    do {
        digits[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    pad = n < width ? width - n : 0;
    memset(to, '0', pad);
    for (size_t i = 0; i < n; i++)
        to[pad + i] = digits[n - 1 - i];
    return pad + n;
}

static enum sf_err decode_nums(sf_bytes raw, uint32_t n, struct sf_arena *tmp, uint64_t **out)
{
    struct sf_planes p;
    uint64_t *nums;

    if (!sf_planes_parse(&raw, n, &p) || raw.len)
        return SF_ERR_CORRUPT;
    nums = sf_arena_raw(tmp, (size_t)n * sizeof(*nums), 8);
    if (!nums)
        return SF_ERR_LIMIT;
    sf_planes_decode(&p, n, nums);
    *out = nums;
    return SF_OK;
}

static enum sf_err decode_ipv4s(sf_bytes raw, uint32_t n, struct sf_arena *req, sf_str *out)
{
    enum { MAX_LEN = 15 };
    char *to = sf_arena_raw(req, (size_t)n * MAX_LEN, 1);
    struct sf_arena tmp = *req;
    uint64_t *nums;
    enum sf_err err;

    if (!to)
        return SF_ERR_LIMIT;
    err = decode_nums(raw, n, &tmp, &nums);
    for (uint32_t i = 0; !err && i < n; i++) {
        size_t len = 0;
        if (nums[i] > UINT32_MAX)
            return SF_ERR_CORRUPT;
        for (int shift = 24; shift >= 0; shift -= 8) {
            len += put_decimal(to + len, nums[i] >> shift & 255, 1);
            if (shift)
                to[len++] = '.';
        }
        out[i] = (sf_str){to, len};
        to += len;
    }
    return err;
}

static enum sf_err decode_decimals(sf_bytes raw, uint32_t n, struct sf_arena *req, sf_str *out)
{
    size_t width, prefix, room;
    const uint8_t *text;
    struct sf_arena tmp;
    uint64_t *nums;
    char *to;
    enum sf_err err;

    if (raw.len < 3)
        return SF_ERR_CORRUPT;
    width = raw.p[0];
    prefix = sf_load_u16le(raw.p + 1);
    text = raw.p + 3;
    if (width > MAX_DIGITS || prefix > MAX_PREFIX_LEN || prefix > raw.len - 3)
        return SF_ERR_CORRUPT;
    if (!sf_mul_size(n, prefix + 20, &room))
        return SF_ERR_LIMIT;
    to = sf_arena_raw(req, room, 1);
    if (!to)
        return SF_ERR_LIMIT;
    tmp = *req;
    err = decode_nums((sf_bytes){text + prefix, raw.len - 3 - prefix}, n, &tmp, &nums);
    for (uint32_t i = 0; !err && i < n; i++) {
        size_t len = prefix;
        memcpy(to, text, prefix);
        len += put_decimal(to + prefix, nums[i], width);
        out[i] = (sf_str){to, len};
        to += len;
    }
    return err;
}

static enum sf_err decode_plain(sf_bytes raw, uint32_t n, struct sf_arena *req, sf_str *out)
{
    struct sf_arena tmp = *req;
    struct sf_planes p;
    uint64_t *lens;

    if (!sf_planes_parse(&raw, n, &p))
        return SF_ERR_CORRUPT;
    lens = sf_arena_raw(&tmp, (size_t)n * sizeof(*lens), 8);
    if (!lens)
        return SF_ERR_LIMIT;
    sf_planes_decode(&p, n, lens);
    for (uint32_t i = 0; i < n; i++) {
        if (lens[i] > raw.len)
            return SF_ERR_CORRUPT;
        out[i] = (sf_str){(const char *)raw.p, lens[i]};
        raw.p += lens[i];
        raw.len -= lens[i];
    }
    return raw.len ? SF_ERR_CORRUPT : SF_OK;
}

enum sf_err sf_encoding_strings_decode(uint8_t enc, sf_bytes raw, uint32_t n, struct sf_arena *req,
                                       sf_str *out)
{
    switch (enc) {
    case SF_ENC_STR: return decode_plain(raw, n, req, out);
    case SF_ENC_UUID: return decode_uuids(raw, n, req, out);
    case SF_ENC_HEX: return decode_hex(raw, n, req, out);
    case SF_ENC_IPV4: return decode_ipv4s(raw, n, req, out);
    case SF_ENC_DEC: return decode_decimals(raw, n, req, out);
    default: return SF_ERR_CORRUPT;
    }
}

/* ---- searching ---- */

static bool planes_may_have(sf_bytes raw, uint32_t n, uint64_t v)
{
    struct sf_planes p;
    return !sf_planes_parse(&raw, n, &p) || sf_planes_may_have(&p, n, v);
}

static bool bytes_may_have(const uint8_t *in, size_t in_len, const void *what, size_t len)
{
    return len == 0 || (in_len && memmem(in, in_len, what, len));
}

static bool hex_may_have(sf_bytes raw, sf_str text)
{
    uint8_t packed[MAX_HEX_LEN / 2];

    if (raw.len < 2)
        return true;
    if (text.len != sf_load_u16le(raw.p) || text.len > MAX_HEX_LEN || !is_lower_hex(text) ||
        !sf_hex_decode(text, packed, text.len / 2))
        return false;
    return bytes_may_have(raw.p + 2, raw.len - 2, packed, text.len / 2);
}

static bool decimals_may_have(sf_bytes raw, uint32_t n, sf_str text)
{
    size_t width, prefix, digits;
    uint64_t v = 0;

    if (raw.len < 3)
        return true;
    width = raw.p[0];
    prefix = sf_load_u16le(raw.p + 1);
    if (prefix > raw.len - 3)
        return true;
    if (text.len <= prefix || memcmp(text.p, raw.p + 3, prefix) != 0)
        return false;
    digits = text.len - prefix;
    if (digits > MAX_DIGITS || (width ? digits != width : digits > 1 && text.p[prefix] == '0'))
        return false;
    for (size_t i = prefix; i < text.len; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        v = v * 10 + (uint64_t)(text.p[i] - '0');
    }
    return planes_may_have((sf_bytes){raw.p + 3 + prefix, raw.len - 3 - prefix}, n, v);
}

static bool plain_may_have(sf_bytes raw, uint32_t n, sf_str text)
{
    struct sf_planes lens;
    if (!sf_planes_parse(&raw, n, &lens))
        return true;
    return sf_planes_may_have(&lens, n, text.len) &&
           bytes_may_have(raw.p, raw.len, text.p, text.len);
}

bool sf_encoding_strings_may_have(uint8_t enc, sf_bytes raw, uint32_t n, sf_str text)
{
    uint8_t uuid[16];
    uint64_t address;

    switch (enc) {
    case SF_ENC_STR: return plain_may_have(raw, n, text);
    case SF_ENC_UUID:
        return squeeze_uuid(text, uuid) && bytes_may_have(raw.p, raw.len, uuid, sizeof(uuid));
    case SF_ENC_HEX: return hex_may_have(raw, text);
    case SF_ENC_IPV4: return squeeze_ipv4(text, &address) && planes_may_have(raw, n, address);
    case SF_ENC_DEC: return decimals_may_have(raw, n, text);
    default: return true;
    }
}

bool sf_encoding_strings_may_contain(uint8_t enc, sf_bytes raw, uint32_t n, sf_str part)
{
    struct sf_planes lens;
    return enc != SF_ENC_STR || !sf_planes_parse(&raw, n, &lens) ||
           bytes_may_have(raw.p, raw.len, part.p, part.len);
}

/* ---- numbers ---- */

void sf_encoding_f64_encode(struct sf_buf *out, const uint64_t *bits, uint32_t n)
{
    uint8_t *to = sf_buf_take(out, (size_t)n * 8);
    uint64_t last = 0;

    for (size_t i = 0; to && i < n; i++) {
        uint64_t x = bits[i] ^ last;
        last = bits[i];
        for (unsigned w = 0; w < 8; w++)
            to[w * (size_t)n + i] = (uint8_t)(x >> (8 * w));
    }
}

void sf_encoding_bits_encode(struct sf_buf *out, const uint64_t *vals, uint32_t n)
{
    size_t len = ((size_t)n + 7) / 8;
    uint8_t *to = sf_buf_take(out, len);

    if (!to)
        return;
    memset(to, 0, len);
    for (size_t i = 0; i < n; i++)
        to[i / 8] = (uint8_t)(to[i / 8] | (vals[i] & 1) << (i % 8));
}

bool sf_encoding_numbers_decode(uint8_t enc, sf_bytes raw, uint32_t n, uint64_t *out)
{
    struct sf_planes p;
    uint64_t last = 0;

    switch (enc) {
    case SF_ENC_CONST:
        if (raw.len != 8)
            return false;
        for (size_t i = 0; i < n; i++)
            out[i] = sf_load_u64le(raw.p);
        return true;
    case SF_ENC_PLANES:
        if (!sf_planes_parse(&raw, n, &p) || raw.len)
            return false;
        sf_planes_decode(&p, n, out);
        return true;
    case SF_ENC_BITS:
        if (raw.len != ((size_t)n + 7) / 8)
            return false;
        for (size_t i = 0; i < n; i++)
            out[i] = raw.p[i / 8] >> (i % 8) & 1;
        return true;
    case SF_ENC_F64:
        if (raw.len != (size_t)n * 8)
            return false;
        p = (struct sf_planes){.divisor = 1, .width = 8, .bytes = raw.p};
        sf_planes_decode(&p, n, out);
        for (size_t i = 0; i < n; i++)
            last = out[i] ^= last;
        return true;
    default: return false;
    }
}
