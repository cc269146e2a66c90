#include "wire/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void before_value(struct sf_json_writer *w)
{
    if (w->needs_comma)
        sf_buf_add_u8(w->out, ',');
    w->needs_comma = true;
}

static void open_with(struct sf_json_writer *w, char c)
{
    before_value(w);
    sf_buf_add_u8(w->out, (uint8_t)c);
    w->needs_comma = false;
}

static void close_with(struct sf_json_writer *w, char c)
{
    sf_buf_add_u8(w->out, (uint8_t)c);
    w->needs_comma = true;
}

void sf_json_write_object(struct sf_json_writer *w)
{
    open_with(w, '{');
}

void sf_json_write_object_end(struct sf_json_writer *w)
{
    close_with(w, '}');
}

void sf_json_write_array(struct sf_json_writer *w)
{
    open_with(w, '[');
}

void sf_json_write_array_end(struct sf_json_writer *w)
{
    close_with(w, ']');
}

static bool json_write_is_plain(char c)
{
    return (uint8_t)c >= 0x20 && (uint8_t)c < 0x7f && c != '"' && c != '\\';
}

static void add_escape(struct sf_buf *out, uint8_t c)
{
    switch (c) {
    case '"': sf_buf_add_str(out, SF_STR("\\\"")); break;
    case '\\': sf_buf_add_str(out, SF_STR("\\\\")); break;
    case '\n': sf_buf_add_str(out, SF_STR("\\n")); break;
    case '\r': sf_buf_add_str(out, SF_STR("\\r")); break;
    case '\t': sf_buf_add_str(out, SF_STR("\\t")); break;
    default: sf_buf_print(out, "\\u%04x", c); break;
    }
}

static void json_write_add_quoted(struct sf_buf *out, sf_str s)
{
    size_t i = 0;
    sf_buf_add_u8(out, '"');
    while (i < s.len) {
        size_t from = i, len;
        while (i < s.len && json_write_is_plain(s.p[i]))
            i++;
        sf_buf_add(out, s.p + from, i - from);
        if (i == s.len)
            break;
        if ((uint8_t)s.p[i] < 0x80) {
            add_escape(out, (uint8_t)s.p[i++]);
            continue;
        }
        len = sf_utf8_char_len(sf_str_from_at(s, i), NULL);
        if (len)
            sf_buf_add(out, s.p + i, len);
        else
            sf_buf_add_str(out, SF_STR("\xef\xbf\xbd"));
        i += len ? len : 1;
    }
    sf_buf_add_u8(out, '"');
}

void sf_json_write_key(struct sf_json_writer *w, sf_str key)
{
    before_value(w);
    json_write_add_quoted(w->out, key);
    sf_buf_add_u8(w->out, ':');
    w->needs_comma = false;
}

void sf_json_write_str(struct sf_json_writer *w, sf_str s)
{
    before_value(w);
    json_write_add_quoted(w->out, s);
}

void sf_json_write_u64(struct sf_json_writer *w, uint64_t v)
{
    before_value(w);
    sf_buf_print(w->out, "%" PRIu64, v);
}

void sf_json_write_i64(struct sf_json_writer *w, int64_t v)
{
    before_value(w);
    sf_buf_print(w->out, "%" PRId64, v);
}

void sf_json_write_u64_text(struct sf_json_writer *w, uint64_t v)
{
    before_value(w);
    sf_buf_print(w->out, "\"%" PRIu64 "\"", v);
}

void sf_json_write_i64_text(struct sf_json_writer *w, int64_t v)
{
    before_value(w);
    sf_buf_print(w->out, "\"%" PRId64 "\"", v);
}

void sf_json_write_f64(struct sf_json_writer *w, double v)
{
    char text[40];
    before_value(w);
    if (isnan(v)) {
        sf_buf_add_str(w->out, SF_STR("\"NaN\""));
        return;
    }
    if (isinf(v)) {
        sf_buf_add_str(w->out, v > 0 ? SF_STR("\"Infinity\"") : SF_STR("\"-Infinity\""));
        return;
    }
    for (int digits = 15; digits <= 17; digits++) { /* 17 digits always give the same number
                                                     * again */
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    sf_buf_add(w->out, text, strlen(text));
}

void sf_json_write_bool(struct sf_json_writer *w, bool v)
{
    before_value(w);
    sf_buf_add_str(w->out, v ? SF_STR("true") : SF_STR("false"));
}

void sf_json_write_null(struct sf_json_writer *w)
{
    before_value(w);
    sf_buf_add_str(w->out, SF_STR("null"));
}

void sf_json_write_hex(struct sf_json_writer *w, sf_bytes v)
{
    uint8_t *p;
    before_value(w);
    sf_buf_add_u8(w->out, '"');
    p = v.len <= SF_BUF_MAX / 2 ? sf_buf_take(w->out, 2 * v.len) : NULL;
    if (p)
        sf_hex_encode(v.p, v.len, (char *)p);
    sf_buf_add_u8(w->out, '"');
}

void sf_json_write_base64(struct sf_json_writer *w, sf_bytes v)
{
    before_value(w);
    sf_buf_add_u8(w->out, '"');
    sf_base64_encode(w->out, v);
    sf_buf_add_u8(w->out, '"');
}

void sf_json_write_raw(struct sf_json_writer *w, sf_str json)
{
    before_value(w);
    sf_buf_add_str(w->out, json);
}

void sf_json_write_key_str(struct sf_json_writer *w, sf_str key, sf_str v)
{
    sf_json_write_key(w, key);
    sf_json_write_str(w, v);
}

void sf_json_write_key_u64(struct sf_json_writer *w, sf_str key, uint64_t v)
{
    sf_json_write_key(w, key);
    sf_json_write_u64(w, v);
}
