#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "wire/json_write.h"

TEST(json_write, places_commas)
{
    struct sf_buf b = {0};
    struct sf_json_writer w = sf_json_writer_init(&b);
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("a"));
    sf_json_write_array(&w);
    sf_json_write_u64(&w, 1);
    sf_json_write_i64(&w, -2);
    sf_json_write_array(&w);
    sf_json_write_array_end(&w);
    sf_json_write_object(&w);
    sf_json_write_object_end(&w);
    sf_json_write_array_end(&w);
    sf_json_write_key_str(&w, SF_STR("b"), SF_STR("c"));
    sf_json_write_key(&w, SF_STR("d"));
    sf_json_write_bool(&w, false);
    sf_json_write_key(&w, SF_STR("e"));
    sf_json_write_null(&w);
    sf_json_write_key_u64(&w, SF_STR("f"), 7);
    sf_json_write_object_end(&w);
    assert_str(sf_buf_str(&b), "{\"a\":[1,-2,[],{}],\"b\":\"c\",\"d\":false,\"e\":null,\"f\":7}");
    sf_buf_done(&b);
}

TEST(json_write, escapes_what_json_cannot_hold)
{
    struct sf_buf b = {0};
    struct sf_json_writer w = sf_json_writer_init(&b);
    sf_json_write_str(&w, SF_STR("a\"\\\n\r\t\x01\x7f\0z\xc3\xa9\xff\xe2\x82"));
    assert_str(sf_buf_str(&b), "\"a\\\"\\\\\\n\\r\\t\\u0001\\u007f\\u0000z\xc3\xa9\xef\xbf\xbd"
                               "\xef\xbf\xbd\xef\xbf\xbd\"");
    sf_buf_done(&b);
}

static void assert_f64(double v, const char *want)
{
    struct sf_buf b = {0};
    struct sf_json_writer w = sf_json_writer_init(&b);
    sf_json_write_f64(&w, v);
    sf_buf_add_u8(&b, 0);
    assert_string_equal((char *)b.p, want);
    sf_buf_done(&b);
}

TEST(json_write, writes_the_shortest_double_that_reads_back)
{
    assert_f64(0.1, "0.1");
    assert_f64(5, "5");
    assert_f64(-0.0, "-0");
    assert_f64(1e300, "1e+300");
    assert_f64(0.1 + 0.2, "0.30000000000000004");
    assert_f64(5e-324, "4.94065645841247e-324");
    assert_f64(NAN, "\"NaN\"");
    assert_f64(INFINITY, "\"Infinity\"");
    assert_f64(-INFINITY, "\"-Infinity\"");
}

TEST(json_write, quotes_ids_bytes_and_long_integers)
{
    struct sf_buf b = {0};
    struct sf_json_writer w = sf_json_writer_init(&b);
    sf_json_write_array(&w);
    sf_json_write_hex(&w, sf_str_bytes(SF_STR("\x01\xab")));
    sf_json_write_base64(&w, sf_str_bytes(SF_STR("\x01\xab")));
    sf_json_write_u64_text(&w, UINT64_MAX);
    sf_json_write_i64_text(&w, INT64_MIN);
    sf_json_write_raw(&w, SF_STR("{\"x\":1}"));
    sf_json_write_array_end(&w);
    assert_str(sf_buf_str(&b), "[\"01ab\",\"Aas=\",\"18446744073709551615\","
                               "\"-9223372036854775808\",{\"x\":1}]");
    sf_buf_done(&b);
}
