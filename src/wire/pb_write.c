#include "wire/pb_write.h"

static size_t put_varint(uint8_t *p, uint64_t v)
{
    size_t n = 0;
    while (v >= 0x80) {
        p[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    p[n++] = (uint8_t)v;
    return n;
}

void sf_pb_write_raw_varint(struct sf_buf *out, uint64_t v)
{
    sf_buf_add_varint(out, v);
}

static void write_tag_and(struct sf_buf *out, uint32_t tag, uint64_t v)
{
    sf_buf_add_varint(out, tag);
    sf_buf_add_varint(out, v);
}

void sf_pb_write_u64(struct sf_buf *out, uint32_t field, uint64_t v)
{
    write_tag_and(out, SF_PB_TAG(field, SF_PB_VARINT), v);
}

void sf_pb_write_i64(struct sf_buf *out, uint32_t field, int64_t v)
{
    sf_pb_write_u64(out, field, (uint64_t)v);
}

void sf_pb_write_bool(struct sf_buf *out, uint32_t field, bool v)
{
    sf_pb_write_u64(out, field, v);
}

void sf_pb_write_fixed64(struct sf_buf *out, uint32_t field, uint64_t v)
{
    sf_pb_write_raw_varint(out, SF_PB_TAG(field, SF_PB_I64));
    sf_buf_add_u64le(out, v);
}

void sf_pb_write_fixed32(struct sf_buf *out, uint32_t field, uint32_t v)
{
    sf_pb_write_raw_varint(out, SF_PB_TAG(field, SF_PB_I32));
    sf_buf_add_u32le(out, v);
}

void sf_pb_write_double(struct sf_buf *out, uint32_t field, double v)
{
    sf_pb_write_fixed64(out, field, sf_load_u64le(&v));
}

void sf_pb_write_head(struct sf_buf *out, uint32_t field, size_t len)
{
    write_tag_and(out, SF_PB_TAG(field, SF_PB_LEN), len);
}

void sf_pb_write_bytes(struct sf_buf *out, uint32_t field, sf_bytes v)
{
    sf_pb_write_head(out, field, v.len);
    sf_buf_add(out, v.p, v.len);
}

void sf_pb_write_str(struct sf_buf *out, uint32_t field, sf_str v)
{
    sf_pb_write_bytes(out, field, sf_str_bytes(v));
}

size_t sf_pb_write_begin(struct sf_buf *out, uint32_t field)
{
    write_tag_and(out, SF_PB_TAG(field, SF_PB_LEN), 0);
    return out->len;
}

void sf_pb_write_end(struct sf_buf *out, size_t mark)
{
    uint8_t head[10];
    size_t len, n;

    if (!sf_buf_ok(out))
        return;
    SF_ASSERT(mark > 0 && mark <= out->len);
    len = out->len - mark;
    n = put_varint(head, len);
    if (n > 1) {
        if (!sf_buf_take(out, n - 1))
            return;
        memmove(out->p + mark + n - 1, out->p + mark, len);
    }
    memcpy(out->p + mark - 1, head, n);
}

size_t sf_pb_write_varint_len(uint64_t v)
{
    size_t n = 1;
    for (; v >= 0x80; v >>= 7)
        n++;
    return n;
}
