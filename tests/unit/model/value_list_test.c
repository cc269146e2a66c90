#include "test.h"

#include "base/err.h"
#include "base/limits.h"
#include "model/value_list.h"

static struct sf_value list_of(enum sf_value_type type, sf_str content)
{
    return (struct sf_value){.type = type, .str = content};
}

TEST(value_list, steps_through_an_array_of_every_type)
{
    struct sf_value_list l = sf_value_list_init(
        list_of(SF_VALUE_ARRAY, SF_STR("\x0a\x03\x0a\x01x"                /* "x" */
                                       "\x0a\x02\x10\x01"                 /* true */
                                       "\x0a\x02\x18\x07"                 /* 7 */
                                       "\x0a\x09\x21\0\0\0\0\0\0\xf8\x3f" /* 1.5 */
                                       "\x0a\x06\x2a\x04\x0a\x02\x18\x01" /* [1] */
                                       "\x0a\x02\x32\x00"                 /* {} */
                                       "\x0a\x03\x3a\x01\xff"             /* bytes ff */
                                       "\x0a\x00"                         /* empty */
                                       "\x0a\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
    static const enum sf_value_type want[] = {SF_VALUE_STR,    SF_VALUE_BOOL,  SF_VALUE_INT,
                                              SF_VALUE_DOUBLE, SF_VALUE_ARRAY, SF_VALUE_KVLIST,
                                              SF_VALUE_BYTES,  SF_VALUE_EMPTY, SF_VALUE_INT};
    struct sf_attr at;
    struct sf_value inner = {0};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        assert_true(sf_value_list_next(&l, &at));
        assert_int_equal(at.val.type, want[i]);
        assert_int_equal(at.key.len, 0);
        if (at.val.type == SF_VALUE_ARRAY)
            inner = at.val;
        if (i == 3)
            assert_true(at.val.f64 == 1.5);
    }
    assert_int_equal(at.val.i64, -1);
    assert_false(sf_value_list_next(&l, &at));
    l = sf_value_list_init(inner);
    assert_true(sf_value_list_next(&l, &at));
    assert_int_equal(at.val.i64, 1);
}

TEST(value_list, steps_through_keys_and_values)
{
    struct sf_value_list l = sf_value_list_init(
        list_of(SF_VALUE_KVLIST, SF_STR("\x0a\x07\x0a\x01k\x12\x02\x18\x05"
                                        "\x10\x09" /* an unknown field between */
                                        "\x0a\x03\x0a\x01z")));
    struct sf_attr at;
    assert_true(sf_value_list_next(&l, &at));
    assert_str(at.key, "k");
    assert_int_equal(at.val.i64, 5);
    assert_true(sf_value_list_next(&l, &at));
    assert_str(at.key, "z");
    assert_int_equal(at.val.type, SF_VALUE_EMPTY);
    assert_false(sf_value_list_next(&l, &at));
}

TEST(value_list, other_values_hold_nothing)
{
    struct sf_value_list l = sf_value_list_init(list_of(SF_VALUE_STR, SF_STR("\x0a\x00")));
    struct sf_attr at;
    assert_false(sf_value_list_next(&l, &at));
}

TEST(value_list, ends_at_bytes_that_make_no_sense)
{
    struct sf_value_list l = sf_value_list_init(
        list_of(SF_VALUE_ARRAY, SF_STR("\x0a\x00\x0a\x7f")));
    struct sf_attr at;
    assert_true(sf_value_list_next(&l, &at));
    assert_false(sf_value_list_next(&l, &at));
    assert_false(sf_value_list_next(&l, &at));
}

/* `depth` arrays, one in the other. */
static size_t nest(uint8_t *buf, size_t cap, unsigned depth)
{
    size_t at = cap; /* written from the inside out, from the end */
    for (unsigned i = 1; i < depth; i++) {
        uint8_t any[12];
        size_t len = cap - at, n = 0;
        /* 0a <any len> 2a <array len> ... with three-byte lengths */
        any[n++] = 0x0a;
        any[n++] = (uint8_t)((len + 4) | 0x80);
        any[n++] = (uint8_t)((len + 4) >> 7 | 0x80);
        any[n++] = 0;
        any[n++] = 0x2a;
        any[n++] = (uint8_t)(len | 0x80);
        any[n++] = (uint8_t)(len >> 7 | 0x80);
        any[n++] = 0;
        at -= n;
        memcpy(buf + at, any, n);
    }
    memmove(buf, buf + at, cap - at);
    return cap - at;
}

TEST(value_list, checks_depth_up_to_the_limit)
{
    uint8_t buf[2048];
    const char *fault;
    size_t off, len = nest(buf, sizeof(buf), SF_LIMIT_NESTING);
    assert_true(sf_value_list_check(SF_VALUE_ARRAY, (sf_str){(char *)buf, len}, &off, &fault));
    len = nest(buf, sizeof(buf), SF_LIMIT_NESTING + 1);
    assert_false(sf_value_list_check(SF_VALUE_ARRAY, (sf_str){(char *)buf, len}, &off, &fault));
    assert_non_null(strstr(fault, "too deep"));
    assert_int_equal(off, len);
    len = nest(buf, sizeof(buf), 100);
    assert_false(sf_value_list_check(SF_VALUE_ARRAY, (sf_str){(char *)buf, len}, &off, &fault));
}

static void assert_bad(enum sf_value_type type, sf_str content, size_t want)
{
    const char *fault;
    size_t off;
    assert_false(sf_value_list_check(type, content, &off, &fault));
    assert_int_equal(off, want);
}

TEST(value_list, checks_every_level)
{
    const char *fault;
    size_t off;
    assert_true(sf_value_list_check(SF_VALUE_ARRAY, SF_STR_NONE, &off, &fault));
    assert_bad(SF_VALUE_ARRAY, SF_STR("\x0a\x05\x18\x01"), 0);         /* past the end */
    assert_bad(SF_VALUE_ARRAY, SF_STR("\x0a\x01\x18"), 3);             /* an int without digits */
    assert_bad(SF_VALUE_ARRAY, SF_STR("\x0a\x02\x00\x00"), 2);         /* field 0 */
    assert_bad(SF_VALUE_ARRAY, SF_STR("\x0a\x01\x23"), 2);             /* a group */
    assert_bad(SF_VALUE_ARRAY, SF_STR("\x0a\x04\x21\x01\x02\x03"), 3); /* a short double */
    assert_bad(SF_VALUE_KVLIST, SF_STR("\x0a\x03\x12\x01\x18"), 5);
    assert_bad(SF_VALUE_KVLIST, SF_STR("\x0a\x06\x12\x04\x2a\x02\x0a\x09"), 6);
    assert_bad(SF_VALUE_ARRAY, SF_STR("\x18\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02"), 1);
}

TEST(value_list, is_cut_between_elements)
{
    sf_str s = SF_STR("\x0a\x02\x18\x01\x0a\x02\x18\x02\x0a\x02\x18\x03");
    assert_int_equal(sf_value_list_cut(s, 12).len, 12);
    assert_int_equal(sf_value_list_cut(s, 11).len, 8);
    assert_int_equal(sf_value_list_cut(s, 8).len, 8);
    assert_int_equal(sf_value_list_cut(s, 3).len, 0);
}
