#include "block/format/overflow.h"

#include "block/format/cursor.h"
#include "block/span/layout.h"

void sf_overflow_pack(struct sf_buf *to, const struct sf_attr *a)
{
    sf_buf_reset(to);
    sf_buf_add_u8(to, (uint8_t)a->val.type);
    sf_buf_add_varint(to, a->key.len);
    sf_buf_add_str(to, a->key);
    switch (a->val.type) {
    case SF_VALUE_BOOL: sf_buf_add_u8(to, a->val.is_true); break;
    case SF_VALUE_INT:
    case SF_VALUE_DOUBLE: sf_buf_add(to, &a->val.i64, 8); break;
    case SF_VALUE_EMPTY: break;
    default: sf_buf_add_str(to, a->val.str); break;
    }
}

bool sf_overflow_unpack(sf_str text, struct sf_attr *out)
{
    struct sf_cursor c = sf_cursor_of(sf_str_bytes(text));
    uint8_t type = sf_cursor_u8(&c);

    out->key = sf_cursor_str(&c);
    if (c.is_bad || type == SF_VALUE_NONE || type >= SF_VALUE_TYPES)
        return false;
    out->val = (struct sf_value){.type = type};
    if (sf_block_type_is_text(type))
        out->val.str = (sf_str){(const char *)c.at, sf_cursor_left(&c)};
    else if (type == SF_VALUE_BOOL)
        out->val.is_true = sf_cursor_u8(&c) & 1;
    else if (type != SF_VALUE_EMPTY)
        out->val.i64 = (int64_t)sf_cursor_u64(&c);
    return sf_block_type_is_text(type) || (!c.is_bad && sf_cursor_left(&c) == 0);
}
