#include "test.h"

#include "base/heap.h"
#include "wire/pb_write.h"

static void assert_bytes(const struct sf_buf *b, const void *want, size_t len)
{
    assert_true(sf_buf_ok(b));
    assert_int_equal(b->len, len);
    assert_memory_equal(b->p, want, len);
}

/* Status{code 14, message "busy", RetryInfo 5 s} */
TEST(pb_write, writes_the_known_status_message)
{
    static const char want[] = "\x08\x0e\x12\x04"
                               "busy\x1a\x30\x0a\x28type.googleapis.com/google.rpc.RetryInfo"
                               "\x12\x04\x0a\x02\x08\x05";
    struct sf_buf b = {0};
    size_t any, info, delay;
    sf_pb_write_u64(&b, 1, 14);
    sf_pb_write_str(&b, 2, SF_STR("busy"));
    any = sf_pb_write_begin(&b, 3);
    sf_pb_write_str(&b, 1, SF_STR("type.googleapis.com/google.rpc.RetryInfo"));
    info = sf_pb_write_begin(&b, 2);
    delay = sf_pb_write_begin(&b, 1);
    sf_pb_write_u64(&b, 1, 5);
    sf_pb_write_end(&b, delay);
    sf_pb_write_end(&b, info);
    sf_pb_write_end(&b, any);
    assert_bytes(&b, want, sizeof(want) - 1);
    sf_buf_done(&b);
}

TEST(pb_write, makes_room_for_long_lengths)
{
    for (size_t len = 0; len < 20000; len = len * 3 + 1) {
        struct sf_buf b = {0};
        size_t outer = sf_pb_write_begin(&b, 1), inner = sf_pb_write_begin(&b, 1000);
        struct sf_pb pb, child;
        sf_bytes content;
        for (size_t i = 0; i < len; i++)
            sf_buf_add_u8(&b, (uint8_t)i);
        sf_pb_write_end(&b, inner);
        sf_pb_write_u64(&b, 2, 7);
        sf_pb_write_end(&b, outer);
        pb = sf_pb_init(sf_buf_bytes(&b));
        assert_true(sf_pb_next(&pb));
        child = sf_pb_msg(&pb);
        assert_false(sf_pb_next(&pb));
        assert_true(sf_pb_next(&child));
        assert_int_equal(child.field, 1000);
        content = sf_pb_bytes(&child);
        assert_int_equal(content.len, len);
        for (size_t i = 0; i < len; i++)
            assert_int_equal(content.p[i], (uint8_t)i);
        assert_true(sf_pb_next(&child));
        assert_int_equal(sf_pb_u64(&child), 7);
        sf_buf_done(&b);
    }
}

TEST(pb_write, knows_how_long_a_number_gets)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        struct sf_buf b = {0};
        sf_pb_write_raw_varint(&b, (uint64_t)1 << bit);
        assert_int_equal(b.len, sf_pb_write_varint_len((uint64_t)1 << bit));
        sf_buf_done(&b);
    }
}

TEST(pb_write, writes_fixed_and_negative_numbers)
{
    static const uint8_t want[] = {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                   0xff, 0x01, 0x11, 0,    0,    0x2a, 0x36, 0xfe, 0x9c,
                                   0x97, 0x17, 0x1d, 1,    0,    0,    0,    0x20, 1};
    struct sf_buf b = {0};
    sf_pb_write_i64(&b, 1, -1);
    sf_pb_write_fixed64(&b, 2, 1700000000000000000u);
    sf_pb_write_fixed32(&b, 3, 1);
    sf_pb_write_bool(&b, 4, true);
    assert_bytes(&b, want, sizeof(want));
    sf_buf_done(&b);
}

TEST(pb_write, leaves_the_fault_in_the_buffer)
{
    struct sf_buf b = {.max = 100};
    size_t mark = sf_pb_write_begin(&b, 1);
    for (int i = 0; i < 200; i++)
        sf_pb_write_u64(&b, 1, 1);
    sf_pb_write_end(&b, mark);
    assert_int_equal(b.err, SF_ERR_LIMIT);
    sf_buf_done(&b);
    sf_heap_fail_after(1);
    mark = sf_pb_write_begin(&b, 1);
    sf_pb_write_end(&b, mark);
    sf_heap_fail_after(0);
    assert_int_equal(b.err, SF_ERR_NOMEM);
    sf_buf_done(&b);
}
