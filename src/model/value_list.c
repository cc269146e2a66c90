/* The module `wire` reads protobuf too, but modules of the same level must not include each other,
 * and little is needed here: ArrayValue is {1: repeated AnyValue}, KeyValueList {1: repeated
 * KeyValue}, KeyValue {1: key, 2: AnyValue}, AnyValue {1: string, 2: bool, 3: int, 4: double, 5:
 * array, 6: kvlist, 7: bytes}. */
#include "model/value_list.h"

#include "base/limits.h"
#include "base/num.h"

#define TAG(field, wire) ((uint32_t)(field) << 3 | (wire))
enum { VARINT = 0, I64 = 1, LEN = 2, I32 = 5 };

struct field {
    uint32_t tag;
    uint64_t num; /* VARINT, I64, I32 */
    sf_str str;   /* LEN */
};

struct reader {
    const uint8_t *at, *end;
    const uint8_t *fault_at;
    const char *fault;
};

static bool value_list_fail(struct reader *r, const uint8_t *at, const char *fault)
{
    if (!r->fault) {
        r->fault = fault;
        r->fault_at = at;
    }
    return false;
}

static bool value_list_read_varint(struct reader *r, uint64_t *out)
{
    const uint8_t *p = r->at;
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && p < r->end; shift += 7, p++) {
        if (shift == 63 && *p > 1)
            break;
        v |= (uint64_t)(*p & 0x7f) << shift;
        if (*p < 0x80) {
            r->at = p + 1;
            *out = v;
            return true;
        }
    }
    return value_list_fail(r, r->at, "a number is cut off or longer than 64 bits");
}

static bool read_fixed(struct reader *r, size_t len, uint64_t *out)
{
    if (len > (size_t)(r->end - r->at))
        return value_list_fail(r, r->at, "a number is cut off");
    *out = len == 8 ? sf_load_u64le(r->at) : sf_load_u32le(r->at);
    r->at += len;
    return true;
}

/* Reads the next field; false at the end or on an error. */
static bool value_list_read_field(struct reader *r, struct field *f)
{
    const uint8_t *start = r->at;
    uint64_t tag, len;

    if (r->at == r->end || !value_list_read_varint(r, &tag))
        return false;
    if (tag < 8 || tag > UINT32_MAX)
        return value_list_fail(r, start, "a field number that cannot be");
    f->tag = (uint32_t)tag;
    switch (tag & 7) {
    case VARINT: return value_list_read_varint(r, &f->num);
    case I64: return read_fixed(r, 8, &f->num);
    case I32: return read_fixed(r, 4, &f->num);
    case LEN:
        if (!value_list_read_varint(r, &len))
            return false;
        if (len > (size_t)(r->end - r->at))
            return value_list_fail(r, start, "a length runs past the end of its message");
        f->str = (sf_str){(const char *)r->at, (size_t)len};
        r->at += len;
        return true;
    default: return value_list_fail(r, start, "an unknown wire type");
    }
}

static struct reader reader_of(sf_str s)
{
    const uint8_t *p = (const uint8_t *)(s.p ? s.p : "");
    return (struct reader){.at = p, .end = p + s.len};
}

static struct sf_value value_list_value_of(sf_str any)
{
    struct reader r = reader_of(any);
    struct sf_value val = {.type = SF_VALUE_EMPTY};
    struct field f;
    while (value_list_read_field(&r, &f)) {
        switch (f.tag) {
        case TAG(1, LEN): val = (struct sf_value){.type = SF_VALUE_STR, .str = f.str}; break;
        case TAG(2, VARINT):
            val = (struct sf_value){.type = SF_VALUE_BOOL, .is_true = f.num != 0};
            break;
        case TAG(3, VARINT):
            val = (struct sf_value){.type = SF_VALUE_INT, .i64 = (int64_t)f.num};
            break;
        case TAG(4, I64):
            val.type = SF_VALUE_DOUBLE;
            memcpy(&val.f64, &f.num, sizeof(val.f64));
            break;
        case TAG(5, LEN): val = (struct sf_value){.type = SF_VALUE_ARRAY, .str = f.str}; break;
        case TAG(6, LEN): val = (struct sf_value){.type = SF_VALUE_KVLIST, .str = f.str}; break;
        case TAG(7, LEN): val = (struct sf_value){.type = SF_VALUE_BYTES, .str = f.str}; break;
        default: break;
        }
    }
    return val;
}

static struct sf_attr value_list_attr_of(sf_str kv)
{
    struct reader r = reader_of(kv);
    struct sf_attr attr = {.val = {.type = SF_VALUE_EMPTY}};
    struct field f;
    while (value_list_read_field(&r, &f)) {
        if (f.tag == TAG(1, LEN))
            attr.key = f.str;
        else if (f.tag == TAG(2, LEN))
            attr.val = value_list_value_of(f.str);
    }
    return attr;
}

struct sf_value_list sf_value_list_init(struct sf_value val)
{
    bool is_list = val.type == SF_VALUE_ARRAY || val.type == SF_VALUE_KVLIST;
    struct reader r = reader_of(is_list ? val.str : SF_STR_NONE);
    return (struct sf_value_list){r.at, r.end, val.type == SF_VALUE_KVLIST};
}

bool sf_value_list_next(struct sf_value_list *list, struct sf_attr *out)
{
    struct reader r = {.at = list->at, .end = list->end};
    struct field f;
    bool has_one = false;

    while (!has_one && value_list_read_field(&r, &f))
        has_one = f.tag == TAG(1, LEN);
    list->at = r.fault ? r.end : r.at;
    if (!has_one)
        return false;
    *out = list->is_kvlist ? value_list_attr_of(f.str)
                           : (struct sf_attr){.val = value_list_value_of(f.str)};
    return true;
}

static bool check_list(struct reader *up, sf_str content, bool is_kvlist, unsigned depth);

static bool check_any(struct reader *up, sf_str any, unsigned depth)
{
    struct reader r = reader_of(any);
    struct field f;
    while (value_list_read_field(&r, &f)) {
        if ((f.tag == TAG(5, LEN) || f.tag == TAG(6, LEN)) &&
            !check_list(up, f.str, f.tag == TAG(6, LEN), depth + 1))
            return false;
    }
    return r.fault ? value_list_fail(up, r.fault_at, r.fault) : true;
}

static bool check_key_value(struct reader *up, sf_str kv, unsigned depth)
{
    struct reader r = reader_of(kv);
    struct field f;
    while (value_list_read_field(&r, &f)) {
        if (f.tag == TAG(2, LEN) && !check_any(up, f.str, depth))
            return false;
    }
    return r.fault ? value_list_fail(up, r.fault_at, r.fault) : true;
}

const char sf_value_list_too_deep[] = "a value is nested too deep";

/* Recursion ends at SF_LIMIT_NESTING, so its stack use is bounded. */
static bool check_list(struct reader *up, sf_str content, bool is_kvlist, unsigned depth)
{
    struct reader r = reader_of(content);
    struct field f;
    if (depth > SF_LIMIT_NESTING)
        return value_list_fail(up, r.at, sf_value_list_too_deep);
    while (value_list_read_field(&r, &f)) {
        if (f.tag != TAG(1, LEN))
            continue;
        if (!(is_kvlist ? check_key_value(up, f.str, depth) : check_any(up, f.str, depth)))
            return false;
    }
    return r.fault ? value_list_fail(up, r.fault_at, r.fault) : true;
}

bool sf_value_list_check(enum sf_value_type type, sf_str content, size_t *out_off,
                         const char **out_fault)
{
    struct reader top = {0};
    if (check_list(&top, content, type == SF_VALUE_KVLIST, 1))
        return true;
    *out_off = content.p ? (size_t)(top.fault_at - (const uint8_t *)content.p) : 0;
    *out_fault = top.fault;
    return false;
}

sf_str sf_value_list_cut(sf_str content, size_t max)
{
    struct reader r = reader_of(content);
    struct field f;
    size_t len = 0;
    if (content.len <= max)
        return content;
    while (value_list_read_field(&r, &f) && (size_t)((const char *)r.at - content.p) <= max)
        len = (size_t)((const char *)r.at - content.p);
    return (sf_str){content.p, len};
}
