#include "wire/row_binary.h"

#include "base/num.h"

static const uint8_t *row_binary_take(struct sf_row_reader *r, size_t len, const char *what)
{
    const uint8_t *p = r->at;
    if (r->fault)
        return NULL;
    if (len > (size_t)(r->end - r->at)) {
        r->fault = what;
        r->fault_off = (size_t)(r->at - r->start);
        r->at = r->end;
        return NULL;
    }
    r->at += len;
    return p;
}

static void row_binary_refuse(struct sf_row_reader *r, const char *what)
{
    if (r->fault)
        return;
    r->fault = what;
    r->fault_off = (size_t)(r->at - r->start);
    r->at = r->end;
}

static uint64_t row_binary_varint(struct sf_row_reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *p = row_binary_take(r, 1, "a length that is cut off");
        if (!p)
            return 0;
        if (shift == 63 && *p > 1)
            break;
        v |= (uint64_t)(*p & 127) << shift;
        if (*p < 128)
            return v;
    }
    row_binary_refuse(r, "a length of more than 64 bits");
    return 0;
}

uint8_t sf_row_binary_u8(struct sf_row_reader *r)
{
    const uint8_t *p = row_binary_take(r, 1, "a number that is cut off");
    return p ? *p : 0;
}

uint16_t sf_row_binary_u16(struct sf_row_reader *r)
{
    const uint8_t *p = row_binary_take(r, 2, "a number that is cut off");
    return p ? sf_load_u16le(p) : 0;
}

uint32_t sf_row_binary_u32(struct sf_row_reader *r)
{
    const uint8_t *p = row_binary_take(r, 4, "a number that is cut off");
    return p ? sf_load_u32le(p) : 0;
}

uint64_t sf_row_binary_u64(struct sf_row_reader *r)
{
    const uint8_t *p = row_binary_take(r, 8, "a number that is cut off");
    return p ? sf_load_u64le(p) : 0;
}

double sf_row_binary_f64(struct sf_row_reader *r)
{
    uint64_t bits = sf_row_binary_u64(r);
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

sf_str sf_row_binary_fixed(struct sf_row_reader *r, size_t len)
{
    const uint8_t *p = row_binary_take(r, len, "a string that is cut off");
    return p ? (sf_str){(const char *)p, len} : SF_STR_NONE;
}

sf_str sf_row_binary_str(struct sf_row_reader *r)
{
    uint64_t len = row_binary_varint(r);
    if (len > (size_t)(r->end - r->at)) {
        row_binary_refuse(r, "a string longer than what is left");
        return SF_STR_NONE;
    }
    return sf_row_binary_fixed(r, (size_t)len);
}

uint32_t sf_row_binary_count(struct sf_row_reader *r, size_t min_len)
{
    uint64_t n = row_binary_varint(r);
    if (n > UINT32_MAX || n > (size_t)(r->end - r->at) / (min_len ? min_len : 1)) {
        row_binary_refuse(r, "an array longer than what is left");
        return 0;
    }
    return (uint32_t)n;
}

enum sf_err sf_row_binary_check(const struct sf_row_reader *r, struct sf_why *why)
{
    if (!r->fault)
        return SF_OK;
    return sf_fail(why, SF_ERR_CORRUPT, "RowBinary: %s at byte %zu", r->fault, r->fault_off);
}
