#include "wire/message.h"

#include <string.h>

static void message_key_of(struct sf_message *m, const char *key)
{
    sf_json_write_key(&m->w, sf_str_from(key));
}

void sf_message_open(struct sf_message *m)
{
    if (m->is_json)
        sf_json_write_object(&m->w);
}

void sf_message_close(struct sf_message *m)
{
    if (m->is_json)
        sf_json_write_object_end(&m->w);
}

size_t sf_message_begin(struct sf_message *m, uint32_t field, const char *key)
{
    if (m->is_json)
        message_key_of(m, key);
    return sf_message_item(m, field);
}

size_t sf_message_item(struct sf_message *m, uint32_t field)
{
    if (!m->is_json)
        return sf_pb_write_begin(m->out, field);
    sf_json_write_object(&m->w);
    return 0;
}

void sf_message_end(struct sf_message *m, size_t mark)
{
    if (m->is_json)
        sf_json_write_object_end(&m->w);
    else
        sf_pb_write_end(m->out, mark);
}

void sf_message_list(struct sf_message *m, const char *key)
{
    if (!m->is_json)
        return;
    message_key_of(m, key);
    sf_json_write_array(&m->w);
}

void sf_message_list_end(struct sf_message *m)
{
    if (m->is_json)
        sf_json_write_array_end(&m->w);
}

void sf_message_item_str(struct sf_message *m, uint32_t field, sf_str v)
{
    if (m->is_json)
        sf_json_write_str(&m->w, v);
    else
        sf_pb_write_str(m->out, field, v);
}

void sf_message_numbers(struct sf_message *m, uint32_t field, const char *key, const int64_t *v,
                        size_t n, bool is_wide)
{
    size_t mark = 0;
    if (n == 0)
        return;
    if (m->is_json)
        sf_message_list(m, key);
    else
        mark = sf_pb_write_begin(m->out, field);
    for (size_t i = 0; i < n; i++) {
        if (!m->is_json)
            sf_pb_write_raw_varint(m->out, (uint64_t)v[i]);
        else if (is_wide)
            sf_json_write_i64_text(&m->w, v[i]);
        else
            sf_json_write_i64(&m->w, v[i]);
    }
    if (m->is_json)
        sf_message_list_end(m);
    else
        sf_pb_write_end(m->out, mark);
}

void sf_message_doubles(struct sf_message *m, uint32_t field, const char *key, const double *v,
                        size_t n)
{
    size_t mark = 0;
    if (n == 0)
        return;
    if (m->is_json)
        sf_message_list(m, key);
    else
        mark = sf_pb_write_begin(m->out, field);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &v[i], sizeof(bits));
        if (m->is_json)
            sf_json_write_f64(&m->w, v[i]);
        else
            sf_buf_add_u64le(m->out, bits);
    }
    if (m->is_json)
        sf_message_list_end(m);
    else
        sf_pb_write_end(m->out, mark);
}

void sf_message_str(struct sf_message *m, uint32_t field, const char *key, sf_str v)
{
    if (v.len == 0)
        return;
    if (m->is_json)
        message_key_of(m, key);
    sf_message_item_str(m, field, v);
}

void sf_message_bytes(struct sf_message *m, uint32_t field, const char *key, sf_bytes v)
{
    if (v.len == 0)
        return;
    if (m->is_json) {
        message_key_of(m, key);
        sf_json_write_base64(&m->w, v);
    } else {
        sf_pb_write_bytes(m->out, field, v);
    }
}

void sf_message_i64(struct sf_message *m, uint32_t field, const char *key, int64_t v)
{
    if (v == 0)
        return;
    if (m->is_json) {
        message_key_of(m, key);
        sf_json_write_i64_text(&m->w, v);
    } else {
        sf_pb_write_i64(m->out, field, v);
    }
}

void sf_message_u64(struct sf_message *m, uint32_t field, const char *key, uint64_t v)
{
    if (v == 0)
        return;
    if (m->is_json) {
        message_key_of(m, key);
        sf_json_write_u64_text(&m->w, v);
    } else {
        sf_pb_write_u64(m->out, field, v);
    }
}

void sf_message_u32(struct sf_message *m, uint32_t field, const char *key, uint32_t v)
{
    if (v == 0)
        return;
    if (m->is_json) {
        message_key_of(m, key);
        sf_json_write_u64(&m->w, v);
    } else {
        sf_pb_write_u64(m->out, field, v);
    }
}

void sf_message_f64(struct sf_message *m, uint32_t field, const char *key, double v)
{
    if (v == 0)
        return;
    if (m->is_json) {
        message_key_of(m, key);
        sf_json_write_f64(&m->w, v);
    } else {
        sf_pb_write_double(m->out, field, v);
    }
}

void sf_message_bool(struct sf_message *m, uint32_t field, const char *key, bool v)
{
    if (!v)
        return;
    if (m->is_json) {
        message_key_of(m, key);
        sf_json_write_bool(&m->w, v);
    } else {
        sf_pb_write_bool(m->out, field, v);
    }
}
