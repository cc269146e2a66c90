#include "test.h"

#include "base/heap.h"
#include "base/num.h"
#include "collect/send/h2_call.h"

static struct sf_h2_call c;
static uint8_t frames[4096];
static size_t n_frames;

static void frame(uint8_t type, uint8_t flags, uint32_t stream, const void *p, size_t len)
{
    uint8_t *to = frames + n_frames;
    to[0] = 0;
    to[1] = (uint8_t)(len >> 8);
    to[2] = (uint8_t)len;
    to[3] = type;
    to[4] = flags;
    sf_store_u32be(to + 5, stream);
    if (len)
        memcpy(to + 9, p, len);
    n_frames += 9 + len;
}

static void begin(void)
{
    sf_h2_call_done(&c);
    c = (struct sf_h2_call){0};
    n_frames = 0;
    sf_h2_call_begin(&c, SF_STR("h:4317"), SF_STR("/S/M"), SF_STR("X-Key: v\r\n"), true);
    assert_true(sf_buf_ok(&c.out));
}

static void take(void)
{
    sf_h2_call_take(&c, (sf_bytes){frames, n_frames});
}

TEST(h2_call, writes_what_a_grpc_server_wants_to_see)
{
    begin();
    assert_true(sf_str_starts(sf_buf_str(&c.out), SF_STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")));
    assert_non_null(memmem(c.out.p, c.out.len, "/S/M", 4));
    assert_non_null(memmem(c.out.p, c.out.len, "\0\x05x-key\x01v", 9));
    assert_non_null(memmem(c.out.p, c.out.len, "grpc-encoding\x04gzip", 18));
    sf_buf_reset(&c.out);
    sf_h2_call_data(&c, sf_str_bytes(SF_STR("abc")), true);
    assert_memory_equal(c.out.p,
                        "\0\0\x03\0\x01\0\0\0\x01"
                        "abc",
                        12);
    assert_int_equal(c.window, 65532);
}

TEST(h2_call, reads_status_and_message)
{
    begin();
    frame(4, 0, 0, "\0\x04\0\x10\0\0", 6); /* windows of a megabyte */
    frame(1, 4, 1, "\x88", 1);
    frame(0, 0, 1, "\0\0\0\0\x02hi", 7);
    frame(1, 5, 1,
          "\0\x0bgrpc-status\x01"
          "0",
          15);
    take();
    assert_null(c.fault);
    assert_true(c.is_done);
    assert_int_equal(c.http_status, 200);
    assert_int_equal(c.grpc_status, 0);
    assert_int_equal(c.body_len, 2);
    assert_memory_equal(c.body, "hi", 2);
    assert_int_equal(c.first_window, 1 << 20);
    /* the settings were acknowledged, and the bytes returned to the connection's window */
    assert_non_null(memmem(c.out.p, c.out.len, "\0\0\0\x04\x01\0\0\0\0", 9));
    assert_non_null(memmem(c.out.p, c.out.len, "\0\0\x04\x08\0\0\0\0\0\0\0\0\x07", 13));
}

/* grpc-status and its digits in the Huffman code of HPACK. */
TEST(h2_call, reads_a_packed_status)
{
    static const struct {
        uint8_t val[3];
        uint8_t len;
        int want;
    } cases[] = {
        {{0x07}, 1, 0},        /* 00000 111 */
        {{0x6b}, 1, 4},        /* 011010 11 */
        {{0x0b, 0x5f}, 2, 14}, /* 00001 011010 11111 */
        {{0x08, 0x7f}, 2, -1}, /* 00001 00001 is 11, but 111111 is one bit short of ones */
        {{0xff}, 1, -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t block[32] = {0x88, 0x00, 0x88, 0x9a, 0xca, 0xc8, 0xb2, 0x12, 0x34, 0xda, 0x8f};
        block[11] = 0x80 | cases[i].len;
        memcpy(block + 12, cases[i].val, cases[i].len);
        begin();
        frame(1, 5, 1, block, 12u + cases[i].len);
        take();
        assert_null(c.fault);
        assert_true(c.is_done);
        if (i != 3)
            assert_int_equal(c.grpc_status, cases[i].want);
    }
}

TEST(h2_call, keeps_within_the_windows)
{
    begin();
    c.conn_window = 10;
    assert_int_equal(sf_h2_call_room(&c), 10);
    sf_h2_call_data(&c, sf_str_bytes(SF_STR("0123456789")), false);
    assert_int_equal(sf_h2_call_room(&c), 0);
    frame(8, 0, 0, "\0\0\0\x05", 4);
    take();
    assert_int_equal(sf_h2_call_room(&c), 5);
    n_frames = 0;
    frame(4, 0, 0, "\0\x04\0\0\0\x03", 6); /* smaller than what was sent: below zero is fine */
    take();
    assert_null(c.fault);
    assert_int_equal(sf_h2_call_room(&c), 0);
}

TEST(h2_call, refuses_what_breaks_the_rules)
{
    static const struct {
        uint8_t type, flags;
        const char *p;
        size_t len;
    } bad[] = {
        {0, 8,
         "\xff"
         "1",
         2},                           /* padding */
        {1, 4, "\xbe", 1},             /* an entry of a table that is empty */
        {1, 4, "\x00\x7f", 2},         /* a name that is not there */
        {1, 4, "\x3f\xe1\x1f", 3},     /* a table after all */
        {3, 0, "\0\0\0\x08", 4},       /* broken off */
        {4, 0, "\0\x04\0", 3},         /* half a setting */
        {4, 0, "\0\x04\xff\0\0\0", 6}, /* a window that is none */
        {5, 4, "\0\0\0\x02", 4},       /* a push */
        {7, 0, "\0\0\0\0\0\0\0\0", 8}, /* gone */
        {8, 0, "\0", 1},               /* half an update */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        begin();
        frame(bad[i].type, bad[i].flags, bad[i].type == 4 || bad[i].type == 7 ? 0 : 1, bad[i].p,
              bad[i].len);
        take();
        assert_non_null(c.fault);
        assert_true(c.is_leaving);
    }
    begin();
    sf_h2_call_take(&c, sf_str_bytes(SF_STR("HTTP/1.1 400 Bad Request\r\n\r\n")));
    assert_non_null(c.fault);
    sf_h2_call_done(&c);
    c = (struct sf_h2_call){0};
}
