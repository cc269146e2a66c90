#include "test.h"

#include <math.h>

#include "wire/json.h"

static struct sf_arena req;
static struct sf_json j;

static struct sf_json *json(sf_str text)
{
    if (!req.base)
        assert_true(sf_arena_init(&req, 1 << 20));
    sf_arena_reset(&req);
    sf_json_init(&j, text, &req);
    return &j;
}

#define JSON(literal) json(SF_STR(literal))

static bool is_json(sf_str text)
{
    sf_json_skip(json(text));
    return sf_json_end(&j);
}

TEST(json, walks_objects_and_arrays)
{
    sf_str key;
    JSON(" { \"a\" : [ 1 , \"x\" , true , null , { } , [ ] ] , \"b\":-2.5e1}\n");
    assert_true(sf_json_object(&j));
    assert_true(sf_json_key(&j, &key));
    assert_str(key, "a");
    assert_true(sf_json_array(&j));
    assert_true(sf_json_item(&j));
    assert_int_equal(sf_json_peek(&j), SF_JSON_NUMBER);
    assert_int_equal(sf_json_i64(&j), 1);
    assert_true(sf_json_item(&j));
    assert_str(sf_json_str(&j), "x");
    assert_true(sf_json_item(&j));
    assert_true(sf_json_bool(&j));
    assert_true(sf_json_item(&j));
    assert_int_equal(sf_json_peek(&j), SF_JSON_NULL);
    assert_false(sf_json_object(&j));
    assert_true(sf_json_item(&j));
    assert_true(sf_json_object(&j));
    assert_false(sf_json_key(&j, &key));
    assert_true(sf_json_item(&j));
    assert_true(sf_json_array(&j));
    assert_false(sf_json_item(&j));
    assert_false(sf_json_item(&j));
    assert_true(sf_json_key(&j, &key));
    assert_str(key, "b");
    assert_int_equal(sf_json_i64(&j), -25);
    assert_false(sf_json_key(&j, &key));
    assert_true(sf_json_end(&j));
}

TEST(json, views_strings_and_copies_those_with_escapes)
{
    sf_str text = SF_STR("\"plain\""), s;
    s = sf_json_str(json(text));
    assert_ptr_equal(s.p, text.p + 1);
    assert_int_equal(sf_arena_used(&req), 0);
    s = sf_json_str(JSON("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20AC\\ud83d\\udd25\\u0000!\""));
    assert_true(sf_str_eq(s, SF_STR("\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5\0!")));
    assert_true(sf_json_ok(&j));
}

TEST(json, skipping_takes_no_memory)
{
    sf_json_init(&j, SF_STR("{\"\\\\\\n\":[\"\\t\"]}"), NULL);
    sf_json_skip(&j);
    assert_true(sf_json_end(&j));
}

TEST(json, lone_surrogates_become_replacement_characters)
{
    assert_str(sf_json_str(JSON("\"\\ud83dx\\udd25\\ud83d\\u0041\"")),
               "\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd"
               "A");
}

TEST(json, refuses_what_is_not_json)
{
    static const char *const bad[] = {
        "",        " ",        "{",          "[",           "[1",        "[1,",   "[1,]", "[,1]",
        "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",       "{\"a\" 1}", "[1 2]", "nul",  "tru",
        "falsy",   "01",       "-",          "1.",          ".5",        "1e",    "1e+",  "+1",
        "\"a",     "\"\\x\"",  "\"\\u12\"",  "\"\\u12G4\"", "\"\n\"",    "\"\\",  "[1]]", "{} x",
        "NaN",     "'a'",      "[1}",        "{\"a\":1]",   "\"\x1f\""};
    static const char *const good[] = {
        "0",  "-0",     "1.5E-3", "\"\"",           "[]",
        "{}", "[[[]]]", " null ", "\xef\xbb\xbf{}", "{\"a\":{\"b\":[true,false]}}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (is_json(sf_str_from(bad[i])))
            fail_msg("takes %s", bad[i]);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (!is_json(sf_str_from(good[i])))
            fail_msg("refuses %s", good[i]);
    }
}

TEST(json, finds_the_end_of_strings_of_every_length)
{
    for (size_t len = 0; len < 40; len++) {
        for (size_t bad_at = 0; bad_at <= len; bad_at++) {
            char text[64];
            memset(text, 0x80 + (int)len, sizeof(text)); /* bytes above 7f are not special */
            text[0] = '"';
            text[len + 1] = '"';
            assert_true(is_json((sf_str){text, len + 2}));
            assert_false(is_json((sf_str){text, len + 1}));
            if (bad_at == len)
                break;
            text[bad_at + 1] = 0x1f;
            assert_false(is_json((sf_str){text, len + 2}));
            text[bad_at + 1] = ' ';
            assert_true(is_json((sf_str){text, len + 2}));
        }
    }
}

TEST(json, reads_integers_exactly)
{
    assert_true(sf_json_u64(JSON("18446744073709551615")) == UINT64_MAX && sf_json_ok(&j));
    assert_true(sf_json_u64(JSON("\"18446744073709551615\"")) == UINT64_MAX && sf_json_ok(&j));
    assert_true(sf_json_i64(JSON("-9223372036854775808")) == INT64_MIN && sf_json_ok(&j));
    assert_true(sf_json_i64(JSON("9223372036854775807")) == INT64_MAX && sf_json_ok(&j));
    assert_true(sf_json_u64(JSON("9007199254740993")) == 9007199254740993u);
    assert_int_equal(sf_json_u64(JSON("1e3")), 1000);
    assert_int_equal(sf_json_u64(JSON("1.5e1")), 15);
    assert_int_equal(sf_json_u64(JSON("10.00")), 10);
    assert_int_equal(sf_json_u64(JSON("1200e-2")), 12);
    assert_int_equal(sf_json_u64(JSON("0.001e3")), 1);
    assert_int_equal(sf_json_u64(JSON("0e999999999999")), 0);
    assert_int_equal(sf_json_u64(JSON("-0")), 0);
    assert_true(sf_json_ok(&j));
    assert_int_equal(sf_json_u32(JSON("null")), 0);
    assert_true(sf_json_end(&j));
    assert_true(sf_json_u32(JSON("4294967295")) == UINT32_MAX && sf_json_ok(&j));
}

TEST(json, refuses_integers_that_are_none)
{
    static const char *const bad[] = {"1.5",
                                      "\"1.5\"",
                                      "1e-1",
                                      "\"\"",
                                      "\" 1\"",
                                      "\"1 \"",
                                      "\"0x1\"",
                                      "true",
                                      "{}",
                                      "1e20",
                                      "18446744073709551616",
                                      "\"NaN\"",
                                      "1e99999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sf_json_u64(json(sf_str_from(bad[i])));
        if (sf_json_ok(&j))
            fail_msg("takes %s", bad[i]);
    }
    sf_json_u64(JSON("-1"));
    assert_false(sf_json_ok(&j));
    sf_json_i64(JSON("9223372036854775808"));
    assert_false(sf_json_ok(&j));
    sf_json_u32(JSON("4294967296"));
    assert_false(sf_json_ok(&j));
}

TEST(json, reads_doubles_and_their_words)
{
    assert_true(sf_json_f64(JSON("0.1")) == 0.1);
    assert_true(sf_json_f64(JSON("\"2.5\"")) == 2.5);
    assert_true(isnan(sf_json_f64(JSON("\"NaN\""))));
    assert_true(sf_json_f64(JSON("\"Infinity\"")) == INFINITY);
    assert_true(sf_json_f64(JSON("\"-Infinity\"")) == -INFINITY);
    assert_true(sf_json_ok(&j));
    sf_json_f64(JSON("1e999"));
    assert_false(sf_json_ok(&j));
    sf_json_f64(JSON("\"inf\""));
    assert_false(sf_json_ok(&j));
}

TEST(json, names_a_fault_by_path_line_and_offset)
{
    struct sf_why why;
    sf_str key;
    JSON("{\"spans\":[\n{},\n{\"kind\": false}]}");
    assert_true(sf_json_object(&j));
    assert_true(sf_json_key(&j, &key));
    assert_true(sf_json_array(&j));
    assert_true(sf_json_item(&j));
    sf_json_skip(&j);
    assert_true(sf_json_item(&j));
    assert_true(sf_json_object(&j));
    assert_true(sf_json_key(&j, &key));
    assert_int_equal(sf_json_i64(&j), 0);
    assert_false(sf_json_key(&j, &key));
    assert_false(sf_json_item(&j));
    assert_err(sf_json_why(&j, "body", &why), SF_ERR_INPUT);
    assert_string_equal(why.text, "body: spans[1].kind: not a number (line 3, byte 24)");
}

TEST(json, stops_at_its_depth)
{
    char text[2 * SF_LIMIT_JSON_DEPTH + 2];
    for (size_t depth = SF_LIMIT_JSON_DEPTH; depth <= SF_LIMIT_JSON_DEPTH + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(is_json((sf_str){text, 2 * depth}), depth == SF_LIMIT_JSON_DEPTH);
    }
    assert_non_null(strstr(j.fault, "too deep"));
}

TEST(json, a_full_arena_is_a_limit)
{
    struct sf_arena small;
    struct sf_why why;
    assert_true(sf_arena_init(&small, 4096));
    small.at = 4094;
    sf_json_init(&j, SF_STR("\"abc\\n\""), &small);
    assert_int_equal(sf_json_str(&j).len, 0);
    assert_err(sf_json_why(&j, "x", &why), SF_ERR_LIMIT);
    sf_json_init(&j, SF_STR("\"abc\\n\""), NULL);
    sf_json_str(&j);
    assert_err(sf_json_why(&j, "x", &why), SF_ERR_INPUT);
    sf_arena_done(&small);
}
