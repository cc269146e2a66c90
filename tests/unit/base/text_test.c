#include "test.h"

#include "base/text.h"

TEST(text, base64_takes_both_alphabets_with_and_without_padding)
{
    struct sf_buf b = {0};
    assert_true(sf_base64_decode(&b, SF_STR("_-8=")));
    assert_int_equal(b.len, 2);
    assert_int_equal(b.p[0], 0xff);
    sf_buf_reset(&b);
    assert_true(sf_base64_decode(&b, SF_STR("/+8")));
    assert_int_equal(b.p[1], 0xef);
    sf_buf_reset(&b);
    assert_false(sf_base64_decode(&b, SF_STR("a")));
    assert_false(sf_base64_decode(&b, SF_STR("a*bc")));
    sf_buf_reset(&b);
    sf_base64_encode(&b, sf_str_bytes(SF_STR("abcd")));
    assert_str(sf_buf_str(&b), "YWJjZA==");
    sf_buf_done(&b);
}

TEST(text, utf8_refuses_surrogates_and_overlong_forms)
{
    assert_true(sf_utf8_is_valid(SF_STR("plain ascii, and \xc3\xa4 \xf0\x9f\x94\xa5")));
    assert_false(sf_utf8_is_valid(SF_STR("\xed\xa0\x80")));
    assert_false(sf_utf8_is_valid(SF_STR("\xc0\x80")));
    assert_false(sf_utf8_is_valid(SF_STR("cut \xe2\x82")));
    assert_int_equal(sf_utf8_cut(SF_STR("ab\xe2\x82\xac"), 4), 2);
    assert_int_equal(sf_utf8_width(SF_STR("a\xf0\x9f\x94\xa5")), 3);
}

TEST(text, hex_wants_every_digit)
{
    uint8_t out[2];
    assert_true(sf_hex_decode(SF_STR("aB01"), out, 2));
    assert_int_equal(out[0], 0xab);
    assert_false(sf_hex_decode(SF_STR("ab0"), out, 2));
    assert_false(sf_hex_decode(SF_STR("ab0g"), out, 2));
}

TEST(text, guesses_only_near_words)
{
    static const char *const known[] = {"retention", "redact", "listen"};
    assert_string_equal(sf_text_nearest(SF_STR("retenton"), known, 3), "retention");
    assert_string_equal(sf_text_nearest(SF_STR("REDACTT"), known, 3), "redact");
    assert_string_equal(sf_text_nearest(SF_STR("list"), known, 3), "listen");
    assert_null(sf_text_nearest(SF_STR("bananas"), known, 3));
    assert_null(sf_text_nearest(SF_STR(""), known, 3));
}

TEST(text, a_word_of_a_shell_is_one_word_and_no_key)
{
    static const struct {
        sf_str text;
        const char *want;
    } cases[] = {
        {SF_STR("shop"), "shop"},
        {SF_STR("a/b:8080,c+d@e%20"), "a/b:8080,c+d@e%20"},
        {SF_STR(""), "''"},
        {SF_STR("a b"), "'a b'"},
        {SF_STR("x'; touch y; echo '"), "'x'\\''; touch y; echo '\\'''"},
        {SF_STR("$(id)`id`!\\"), "'$(id)`id`!\\'"},
        {SF_STR("a\x15rm\r\n\x03\x1b[2J"), "'a?rm????[2J'"}, /* keys, pasted into a terminal */
        {SF_STR("\xe2\x80\xae"
                "a\xff\xc2\x9b"),
         "'?a?"
         "?'"},
        {SF_STR("a\0b"), "'a?b'"},
        {SF_STR("\xc3\xa9"), "'\xc3\xa9'"},
        {SF_STR("\xf3\xa0\x81\x81"), "'?'"}, /* a tag: nobody sees it, a program reads it */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_buf out = {0};
        sf_text_shell_word(&out, cases[i].text);
        sf_buf_add_u8(&out, 0);
        assert_string_equal((const char *)out.p, cases[i].want);
        sf_buf_done(&out);
    }
}
