#include "wire/row_binary.h"

#include "test.h"

TEST(row_binary, reads_back_what_was_written)
{
    struct sf_buf b = {0};
    struct sf_row_reader r;
    struct sf_why why;
    double f = -0.5;
    uint64_t bits;
    memcpy(&bits, &f, 8);
    sf_row_add_str(&b, SF_STR("tenant"));
    sf_buf_add_u16le(&b, 20774);
    sf_buf_add_u32le(&b, 300);
    sf_buf_add_u64le(&b, UINT64_MAX);
    sf_buf_add_u64le(&b, bits);
    sf_buf_add_u8(&b, 7);
    sf_buf_add_varint(&b, 2);
    sf_row_add_str(&b, SF_STR(""));
    sf_row_add_str(&b, SF_STR("x"));
    sf_buf_add(&b, "0123456789abcdef", 16);
    r = sf_row_reader_init(sf_buf_bytes(&b));
    assert_true(sf_str_eq(sf_row_binary_str(&r), SF_STR("tenant")));
    assert_int_equal(sf_row_binary_u16(&r), 20774);
    assert_int_equal(sf_row_binary_u32(&r), 300);
    assert_true(sf_row_binary_u64(&r) == UINT64_MAX);
    assert_true(sf_row_binary_f64(&r) == -0.5);
    assert_int_equal(sf_row_binary_u8(&r), 7);
    assert_int_equal(sf_row_binary_count(&r, 1), 2);
    assert_int_equal(sf_row_binary_str(&r).len, 0);
    assert_true(sf_str_eq(sf_row_binary_str(&r), SF_STR("x")));
    assert_true(sf_row_more(&r));
    assert_true(sf_str_eq(sf_row_binary_fixed(&r, 16), SF_STR("0123456789abcdef")));
    assert_false(sf_row_more(&r));
    assert_ok(sf_row_binary_check(&r, &why));
    sf_buf_done(&b);
}

static enum sf_err read_str(const char *bytes, size_t len, struct sf_why *why)
{
    struct sf_row_reader r = sf_row_reader_init((sf_bytes){(const uint8_t *)bytes, len});
    (void)sf_row_binary_str(&r);
    assert_int_equal(sf_row_binary_u64(&r), 0); /* after a fault all is zero */
    return sf_row_binary_check(&r, why);
}

TEST(row_binary, names_the_first_fault_and_where_it_is)
{
    struct sf_why why;
    assert_int_equal(read_str("\x05hell", 5, &why), SF_ERR_CORRUPT);
    assert_string_equal(why.text, "RowBinary: a string longer than what is left at byte 1");
    assert_int_equal(read_str("\xff\xff", 2, &why), SF_ERR_CORRUPT);
    assert_string_equal(why.text, "RowBinary: a length that is cut off at byte 2");
    assert_int_equal(read_str("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, &why),
                     SF_ERR_CORRUPT);
    assert_non_null(strstr(why.text, "more than 64 bits"));
}

TEST(row_binary, counts_no_more_items_than_can_follow)
{
    struct sf_why why;
    const uint8_t many[] = {0xff, 0xff, 0xff, 0x7f, 1, 2, 3};
    struct sf_row_reader r = sf_row_reader_init((sf_bytes){many, sizeof(many)});
    assert_int_equal(sf_row_binary_count(&r, 1), 0);
    assert_int_equal(sf_row_binary_check(&r, &why), SF_ERR_CORRUPT);
    const uint8_t wide[] = {2, 0, 0, 0, 0, 0, 0, 0, 0};
    r = sf_row_reader_init((sf_bytes){wide, sizeof(wide)});
    assert_int_equal(sf_row_binary_count(&r, 8), 0); /* two of eight bytes do not fit into eight */
    assert_int_equal(sf_row_binary_check(&r, &why), SF_ERR_CORRUPT);
}
