#include "exec/static_value.h"

#include "query/expr_text.h"

bool sf_static_value_of(struct sf_arena *req, struct sf_static v, struct sf_value *out)
{
    struct sf_buf text = {0};
    bool is_kept;
    switch (v.type) {
    case SF_TYPE_INT: *out = (struct sf_value){.type = SF_VALUE_INT, .i64 = v.i64}; return true;
    case SF_TYPE_FLOAT:
        *out = (struct sf_value){.type = SF_VALUE_DOUBLE, .f64 = v.f64};
        return true;
    case SF_TYPE_BOOL:
        *out = (struct sf_value){.type = SF_VALUE_BOOL, .is_true = v.is_true};
        return true;
    case SF_TYPE_STRING:
        *out = (struct sf_value){.type = SF_VALUE_STR};
        return sf_arena_copy(req, v.str, &out->str);
    default: break;
    }
    sf_expr_text_static(v, &text);
    *out = (struct sf_value){.type = SF_VALUE_STR};
    is_kept = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), &out->str);
    sf_buf_done(&text);
    return is_kept;
}
