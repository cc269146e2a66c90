#include "wire/message.h"

#include "test.h"

/* {names:[a,b], part:{n:-1, f:0.5, ok:true}, list:[{n:7}], raw:\1\2, packed:[1,300]} */
static void write_one(struct sf_message *m)
{
    static const int64_t numbers[] = {1, 300};
    static const double halves[] = {0.5};
    size_t mark;
    sf_message_open(m);
    sf_message_list(m, "names");
    sf_message_item_str(m, 1, SF_STR("a"));
    sf_message_item_str(m, 1, SF_STR("b"));
    sf_message_list_end(m);
    mark = sf_message_begin(m, 2, "part");
    sf_message_i64(m, 1, "n", -1);
    sf_message_f64(m, 2, "f", 0.5);
    sf_message_bool(m, 3, "ok", true);
    sf_message_end(m, mark);
    sf_message_list(m, "list");
    mark = sf_message_item(m, 3);
    sf_message_u64(m, 1, "n", 7);
    sf_message_end(m, mark);
    sf_message_list_end(m);
    sf_message_bytes(m, 4, "raw", (sf_bytes){(const uint8_t *)"\1\2", 2});
    sf_message_numbers(m, 5, "packed", numbers, 2, true);
    sf_message_numbers(m, 6, "small", numbers, 2, false);
    sf_message_doubles(m, 7, "halves", halves, 1);
    sf_message_close(m);
}

TEST(message, writes_one_message_as_json)
{
    struct sf_buf out = {0};
    struct sf_message m = sf_message_init(&out, true);
    write_one(&m);
    assert_str(sf_buf_str(&out),
               "{\"names\":[\"a\",\"b\"],\"part\":{\"n\":\"-1\",\"f\":0.5,\"ok\":true},"
               "\"list\":[{\"n\":\"7\"}],\"raw\":\"AQI=\",\"packed\":[\"1\",\"300\"],"
               "\"small\":[1,300],\"halves\":[0.5]}");
    sf_buf_done(&out);
}

TEST(message, writes_the_same_as_protobuf)
{
    static const char want[] = "\x0a\x01"
                               "a\x0a\x01"
                               "b\x12\x16\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                               "\x11\0\0\0\0\0\0\xe0\x3f\x18\x01"
                               "\x1a\x02\x08\x07\x22\x02\x01\x02\x2a\x03\x01\xac\x02"
                               "\x32\x03\x01\xac\x02\x3a\x08\0\0\0\0\0\0\xe0\x3f";
    struct sf_buf out = {0};
    struct sf_message m = sf_message_init(&out, false);
    write_one(&m);
    assert_int_equal(out.len, sizeof(want) - 1);
    assert_memory_equal(out.p, want, sizeof(want) - 1);
    sf_buf_done(&out);
}

TEST(message, leaves_defaults_out)
{
    for (int is_json = 0; is_json < 2; is_json++) {
        struct sf_buf out = {0};
        struct sf_message m = sf_message_init(&out, is_json);
        sf_message_open(&m);
        sf_message_str(&m, 1, "s", SF_STR_NONE);
        sf_message_bytes(&m, 2, "b", (sf_bytes){NULL, 0});
        sf_message_i64(&m, 3, "i", 0);
        sf_message_u64(&m, 4, "u", 0);
        sf_message_f64(&m, 5, "f", 0);
        sf_message_bool(&m, 6, "t", false);
        sf_message_numbers(&m, 7, "n", NULL, 0, true);
        sf_message_close(&m);
        assert_int_equal(out.len, is_json ? 2 : 0);
        sf_buf_done(&out);
    }
}
