#include "test.h"

#include "collect/send/endpoint.h"

static struct sf_endpoint parsed(const char *url, const char *append)
{
    struct sf_endpoint e = {0};
    struct sf_why why = {0};
    assert_ok(sf_endpoint_parse(sf_str_from(url), 0, sf_str_from(append), &e, &why));
    return e;
}

TEST(endpoint, takes_a_url_apart)
{
    struct sf_endpoint e = parsed("http://collector.local:4318/base/", "/v1/traces");
    assert_string_equal(e.host, "collector.local");
    assert_int_equal(e.port, 4318);
    assert_string_equal(e.path, "/base/v1/traces");
    assert_false(e.is_tls);
    e = parsed(" HTTPS://x ", "");
    assert_true(e.is_tls);
    assert_int_equal(e.port, 443);
    assert_string_equal(e.path, "/");
}

TEST(endpoint, reads_addresses_in_brackets_and_no_scheme)
{
    struct sf_endpoint e = parsed("[::1]:4317", "");
    assert_string_equal(e.host, "::1");
    assert_true(e.is_v6);
    assert_int_equal(e.port, 4317);
    e = parsed("localhost:1/x?y=1#frag", "");
    assert_string_equal(e.path, "/x?y=1");
}

TEST(endpoint, refuses_what_cannot_be_sent_to)
{
    static const char *const bad[] = {
        "",           "http://",       "ftp://x/",         "http://x:0",  "http://x:65536",
        "http://a b", "http://u:p@x/", "http://x\r\nA: b", "http://[::1", "http://[::1]x",
        "http://x:",  "http://x/\x7f",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sf_endpoint e = {.port = 7};
        struct sf_why why = {0};
        enum sf_err err = sf_endpoint_parse(sf_str_from(bad[i]), 0, SF_STR_NONE, &e, &why);
        if (i == 10) { /* an empty port is the usual one, as in browsers */
            assert_int_equal(err, SF_OK);
            continue;
        }
        assert_int_equal(err, SF_ERR_INPUT);
        assert_int_equal(e.port, 7);
        assert_true(why.text[0]);
    }
}

TEST(endpoint, refuses_a_path_that_does_not_fit)
{
    char url[700] = "http://x/";
    struct sf_endpoint e;
    memset(url + 9, 'a', 600);
    assert_err(sf_endpoint_parse(sf_str_from(url), 0, SF_STR("/v1/traces"), &e, NULL),
               SF_ERR_INPUT);
}
