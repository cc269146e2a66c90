#include "model/value.h"

#include "base/key.h"
#include "base/num.h"

bool sf_value_eq(struct sf_value a, struct sf_value b)
{
    if (a.type != b.type)
        return false;
    switch (a.type) {
    case SF_VALUE_NONE:
    case SF_VALUE_EMPTY: return true;
    case SF_VALUE_BOOL: return a.is_true == b.is_true;
    case SF_VALUE_INT: return a.i64 == b.i64;
    case SF_VALUE_DOUBLE: return sf_load_u64le(&a.f64) == sf_load_u64le(&b.f64);
    default: return sf_str_eq(a.str, b.str);
    }
}

uint64_t sf_value_hash(struct sf_value v)
{
    uint64_t type = sf_key_u64((uint64_t)v.type);
    switch (v.type) {
    case SF_VALUE_NONE:
    case SF_VALUE_EMPTY: return type;
    case SF_VALUE_BOOL: return sf_key_mix(type, v.is_true);
    case SF_VALUE_INT: return sf_key_mix(type, (uint64_t)v.i64);
    case SF_VALUE_DOUBLE: return sf_key_mix(type, sf_load_u64le(&v.f64));
    default: return sf_key_mix(type, sf_key_str(v.str));
    }
}

/* Compares bits: signed zeros and NaN have no numeric order. */
static int compare_bits(double a, double b)
{
    uint64_t x = sf_load_u64le(&a), y = sf_load_u64le(&b);
    return x < y ? -1 : x > y;
}

int sf_value_cmp(struct sf_value a, struct sf_value b)
{
    if (a.type != b.type)
        return a.type < b.type ? -1 : 1;
    switch (a.type) {
    case SF_VALUE_NONE:
    case SF_VALUE_EMPTY: return 0;
    case SF_VALUE_BOOL: return (int)a.is_true - (int)b.is_true;
    case SF_VALUE_INT: return a.i64 < b.i64 ? -1 : a.i64 > b.i64;
    case SF_VALUE_DOUBLE:
        if (a.f64 < b.f64 || a.f64 > b.f64)
            return a.f64 < b.f64 ? -1 : 1;
        return compare_bits(a.f64, b.f64);
    default: return sf_str_cmp(a.str, b.str);
    }
}

struct sf_value sf_attrs_get(struct sf_attrs attrs, sf_str key)
{
    for (uint32_t i = attrs.n; i > 0; i--) {
        if (sf_str_eq(attrs.list[i - 1].key, key))
            return attrs.list[i - 1].val;
    }
    return (struct sf_value){0};
}

sf_str sf_attrs_str(struct sf_attrs attrs, sf_str key)
{
    struct sf_value val = sf_attrs_get(attrs, key);
    return val.type == SF_VALUE_STR ? val.str : SF_STR_NONE;
}
