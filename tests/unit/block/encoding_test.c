#include "test.h"

#include "block/format/dict.h"
#include "block/format/encoding.h"

/* Encodes texts (separated by '|'), checks how, and that they come back. */
static void check(const char *all, uint8_t want)
{
    struct sf_dict d = {0};
    struct sf_buf b = {0}, scratch = {0};
    struct sf_arena a;
    sf_str rest = sf_str_from(all), head, back[16];
    uint32_t codes[16], n = 0, reversed[16];
    struct sf_str_list list;

    assert_true(sf_arena_init(&a, 1 << 20));
    while (sf_str_split_next(&rest, '|', &head))
        assert_true(sf_dict_add(&d, head, &codes[n++]));
    for (uint32_t i = 0; i < n; i++)
        reversed[i] = codes[n - 1 - i];
    list = (struct sf_str_list){d.bytes.p, d.ends, NULL, d.n};
    for (int is_ordered = 0; is_ordered < 2; is_ordered++) {
        uint8_t enc;
        sf_buf_reset(&b);
        enc = sf_encoding_strings_encode(&b, &list, &scratch);
        if (enc != want)
            fail_msg("%s is %s, not %s", all, sf_encoding_name(enc), sf_encoding_name(want));
        assert_ok(sf_encoding_strings_decode(enc, sf_buf_bytes(&b), list.n, &a, back));
        for (uint32_t i = 0; i < list.n; i++) {
            assert_true(sf_str_eq(back[i], sf_dict_get(&d, is_ordered ? reversed[i] : i)));
            assert_true(sf_encoding_strings_may_have(enc, sf_buf_bytes(&b), list.n, back[i]));
        }
        for (size_t len = 0; len < b.len; len++)
            assert_err(sf_encoding_strings_decode(enc, (sf_bytes){b.p, len}, list.n, &a, back),
                       SF_ERR_CORRUPT);
        list.order = reversed;
        list.n = n;
    }
    sf_arena_done(&a);
    sf_dict_done(&d);
    sf_buf_done(&b);
    sf_buf_done(&scratch);
}

TEST(encoding, sees_texts_of_fixed_shape)
{
    check("3f2504e0-4f89-11d3-9a0c-0305e82c3301|00000000-0000-0000-0000-000000000000", SF_ENC_UUID);
    check("10.0.0.1|255.255.255.255|0.0.0.0", SF_ENC_IPV4);
    check("user-1|user-20|user-0", SF_ENC_DEC);
    check("0007|1234|0000", SF_ENC_DEC);
    check("9999999999999999999|1", SF_ENC_DEC);
    check("00ff00ff00ff00ff|0123456789abcdef", SF_ENC_HEX);
}

TEST(encoding, keeps_what_only_looks_like_a_shape)
{
    check("3F2504E0-4f89-11d3-9a0c-0305e82c3301|x", SF_ENC_STR);
    check("3F2504E0-4F89-11D3-9A0C-0305E82C33AA|3F2504E0-4F89-11D3-9A0C-0305E82C33AB", SF_ENC_STR);
    check("10.0.0.01|10.0.0.2", SF_ENC_STR);
    check("10.0.0.256|10.0.0.2.", SF_ENC_STR);
    check("user-1|user-02", SF_ENC_STR);
    check("user-1|usor-2", SF_ENC_STR);
    check("99999999999999999999|x", SF_ENC_STR);
    check("00FF00FF00FF00FF|0123456789abcdef", SF_ENC_STR);
    check("a||b", SF_ENC_STR);
    check("\xff\xfe|\x01", SF_ENC_STR);
}

/* Whether `text` is found in texts (separated by '|') without decoding them. */
static bool is_found(const char *all, const char *text)
{
    struct sf_dict d = {0};
    struct sf_buf b = {0}, scratch = {0};
    sf_str rest = sf_str_from(all), head;
    struct sf_str_list list;
    uint32_t code;
    uint8_t enc;
    bool found;

    while (sf_str_split_next(&rest, '|', &head))
        assert_true(sf_dict_add(&d, head, &code));
    list = (struct sf_str_list){d.bytes.p, d.ends, NULL, d.n};
    enc = sf_encoding_strings_encode(&b, &list, &scratch);
    found = sf_encoding_strings_may_have(enc, sf_buf_bytes(&b), list.n, sf_str_from(text));
    for (size_t len = 0; len < b.len; len++) /* any answer, but no read beyond the end */
        (void)sf_encoding_strings_may_have(enc, (sf_bytes){b.p, len}, list.n, sf_str_from(text));
    sf_dict_done(&d);
    sf_buf_done(&b);
    sf_buf_done(&scratch);
    return found;
}

TEST(encoding, texts_are_searched_in_the_encoded_form)
{
    assert_true(is_found("user-1|user-20|user-300", "user-20"));
    assert_false(is_found("user-1|user-20|user-300", "user-2"));
    assert_false(is_found("user-1|user-20|user-300", "user-020"));
    assert_false(is_found("user-1|user-20|user-300", "user-"));
    assert_false(is_found("user-1|user-20|user-300", "usor-20"));
    assert_false(is_found("user-1|user-20|user-300", "user-2x"));
    assert_false(is_found("user-1|user-20|user-300", "user-99999999999999999999"));
    assert_true(is_found("0007|1234|0000", "0007"));
    assert_false(is_found("0007|1234|0000", "7"));
    assert_false(is_found("0007|1234|0000", "0008"));
    assert_false(is_found("0100|0200|0300", "0150"));
    assert_true(is_found("x65535|x0|x258", "x258"));
    assert_false(is_found("x65535|x0|x258", "x2"));
    assert_false(is_found("x65535|x0|x258", "x65536"));
    assert_true(is_found("10.0.0.1|10.1.2.3|255.255.255.255", "10.1.2.3"));
    assert_false(is_found("10.0.0.1|10.1.2.3|255.255.255.255", "10.1.2.4"));
    assert_false(is_found("10.0.0.1|10.1.2.3|255.255.255.255", "10.1.2.03"));
    assert_false(is_found("10.0.0.1|10.1.2.3|255.255.255.255", ""));
    assert_true(is_found("00ff00ff00ff00ff|0123456789abcdef", "0123456789abcdef"));
    assert_false(is_found("00ff00ff00ff00ff|0123456789abcdef", "0123456789abcdee"));
    assert_false(is_found("00ff00ff00ff00ff|0123456789abcdef", "0123456789ABCDEF"));
    assert_false(is_found("00ff00ff00ff00ff|0123456789abcdef", "0123456789abcdef00"));
    assert_true(
        is_found("3f2504e0-4f89-11d3-9a0c-0305e82c3301|00000000-0000-0000-0000-000000000000",
                 "3f2504e0-4f89-11d3-9a0c-0305e82c3301"));
    assert_false(
        is_found("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "3f2504e04f8911d39a0c0305e82c3301"));
    assert_true(is_found("/cart/1|/list/2|", "/list/2"));
    assert_true(is_found("/cart/1|/list/2||x", ""));
    assert_false(is_found("/cart/1|/list/2|x", ""));
    assert_false(is_found("/cart/1|/list/2|x", "/list/3"));
    assert_false(is_found("/cart/1|/list/2", "/list/23"));
}

TEST(encoding, brings_doubles_and_bits_back)
{
    const uint64_t DOUBLES[5] = {0x7ff8000000000001, 0, 0x8000000000000000, 0x3ff0000000000000,
                                 UINT64_MAX};
    const uint64_t BITS[9] = {1, 0, 0, 1, 1, 1, 0, 0, 1};
    struct sf_buf b = {0};
    uint64_t back[9];

    sf_encoding_f64_encode(&b, DOUBLES, 5);
    assert_true(sf_encoding_numbers_decode(SF_ENC_F64, sf_buf_bytes(&b), 5, back));
    assert_memory_equal(back, DOUBLES, sizeof(DOUBLES));
    assert_false(sf_encoding_numbers_decode(SF_ENC_F64, sf_buf_bytes(&b), 4, back));
    sf_buf_reset(&b);
    sf_encoding_bits_encode(&b, BITS, 9);
    assert_int_equal(b.len, 2);
    assert_true(sf_encoding_numbers_decode(SF_ENC_BITS, sf_buf_bytes(&b), 9, back));
    assert_memory_equal(back, BITS, sizeof(BITS));
    assert_false(sf_encoding_numbers_decode(SF_ENC_BITS, sf_buf_bytes(&b), 8, back));
    assert_false(sf_encoding_numbers_decode(SF_ENC_STR, sf_buf_bytes(&b), 8, back));
    assert_false(sf_encoding_numbers_decode(SF_ENC_CONST, sf_buf_bytes(&b), 1, back));
    sf_buf_done(&b);
}

TEST(encoding, dict_numbers_strings_in_order_of_appearance)
{
    struct sf_dict d = {0};
    uint32_t code;
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 5000; i++) {
            char text[16];
            int len = snprintf(text, sizeof(text), "%u", i % 1000);
            assert_true(sf_dict_add(&d, (sf_str){text, (size_t)len}, &code));
            assert_int_equal(code, i % 1000);
        }
        assert_int_equal(d.n, 1000);
        assert_true(sf_dict_find(&d, SF_STR("999"), &code));
        assert_false(sf_dict_find(&d, SF_STR("1000"), &code));
        sf_dict_reset(&d);
        assert_false(sf_dict_find(&d, SF_STR("999"), &code));
    }
    sf_dict_done(&d);
}
