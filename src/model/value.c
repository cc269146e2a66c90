#include "model/value.h"

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
