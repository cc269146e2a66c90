#include "collect/lib/attr_write.h"

#include <string.h>

#include "base/text.h"
#include "collect/lib/redact.h"
#include "wire/pb_write.h"

/* AnyValue{1: string, 2: bool, 3: int, 4: double}; KeyValue{1: key, 2: AnyValue}. */

static void attr_write_plain(struct sf_buf *out, uint32_t field, sf_str text)
{
    uint8_t *to;
    if (__builtin_expect(sf_utf8_is_valid(text), 1)) {
        sf_pb_write_str(out, field, text);
        return;
    }
    sf_pb_write_head(out, field, text.len);
    to = sf_buf_take(out, text.len);
    for (size_t i = 0; to && i < text.len;) {
        size_t n = sf_utf8_char_len(sf_str_from_at(text, i), NULL);
        if (n)
            memcpy(to + i, text.p + i, n);
        else
            to[i] = '?';
        i += n ? n : 1;
    }
}

void sf_attr_write_text(struct sf_buf *out, uint32_t field, sf_str text, size_t max_len)
{
    struct sf_buf room = {0};
    if (text.len > max_len)
        text.len = sf_utf8_cut(text, max_len);
    attr_write_plain(out, field, sf_redact_text(text, &room));
    sf_buf_done(&room);
}

static size_t attr_write_begin(struct sf_buf *out, uint32_t field, sf_str key, size_t *value_mark)
{
    size_t mark = sf_pb_write_begin(out, field);
    sf_attr_write_text(out, 1, key, SF_ATTR_KEY_MAX);
    *value_mark = sf_pb_write_begin(out, 2);
    return mark;
}

static void attr_write_end(struct sf_buf *out, size_t mark, size_t value_mark)
{
    sf_pb_write_end(out, value_mark);
    sf_pb_write_end(out, mark);
}

void sf_attr_write_str(struct sf_buf *out, uint32_t field, sf_str key, sf_str val)
{
    size_t value_mark, mark = attr_write_begin(out, field, key, &value_mark);
    if (__builtin_expect(sf_redact_key(key, false), 0) && val.len)
        val = SF_REDACTED;
    sf_attr_write_text(out, 1, val, val.len);
    attr_write_end(out, mark, value_mark);
}

/* A number under the name of a secret: a PIN, a card number. */
static bool hide_number(struct sf_buf *out, uint32_t field, sf_str key)
{
    if (__builtin_expect(!sf_redact_key(key, true), 1))
        return false;
    sf_attr_write_str(out, field, key, SF_REDACTED);
    return true;
}

void sf_attr_write_bool(struct sf_buf *out, uint32_t field, sf_str key, bool val)
{
    size_t value_mark, mark = attr_write_begin(out, field, key, &value_mark);
    sf_pb_write_bool(out, 2, val);
    attr_write_end(out, mark, value_mark);
}

void sf_attr_write_int(struct sf_buf *out, uint32_t field, sf_str key, int64_t val)
{
    size_t value_mark, mark;
    if (hide_number(out, field, key))
        return;
    mark = attr_write_begin(out, field, key, &value_mark);
    sf_pb_write_i64(out, 3, val);
    attr_write_end(out, mark, value_mark);
}

void sf_attr_write_double(struct sf_buf *out, uint32_t field, sf_str key, double val)
{
    size_t value_mark, mark;
    if (hide_number(out, field, key))
        return;
    mark = attr_write_begin(out, field, key, &value_mark);
    sf_pb_write_double(out, 4, val);
    attr_write_end(out, mark, value_mark);
}

bool sf_attr_write(struct sf_buf *out, uint32_t field, const sf_attr *attr, size_t max_len)
{
    sf_str key = sf_str_from(attr->key), val;
    if (!key.len)
        return false;
    switch (attr->type) {
    case SF_ATTR_STR:
        val = sf_str_from(attr->val.str);
        if (val.len > max_len)
            val.len = sf_utf8_cut(val, max_len);
        sf_attr_write_str(out, field, key, val);
        return true;
    case SF_ATTR_INT: sf_attr_write_int(out, field, key, attr->val.i); return true;
    case SF_ATTR_DOUBLE: sf_attr_write_double(out, field, key, attr->val.d); return true;
    case SF_ATTR_BOOL: sf_attr_write_bool(out, field, key, attr->val.b); return true;
    default: return false;
    }
}
