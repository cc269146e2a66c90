#include "store/clickhouse/remote_address.h"

#include "base/buf.h"
#include "test.h"

static enum sf_err parse(const char *url, struct sf_remote_address *out, struct sf_why *why)
{
    return sf_remote_address_parse(sf_str_from(url), out, why);
}

TEST(remote_address, takes_shards_in_their_order)
{
    struct sf_remote_address a;
    struct sf_why why;
    assert_ok(parse("clickhouse://ch1:8123,[::1]:8124,ch3:1/spanflame", &a, &why));
    assert_int_equal(a.n_shards, 3);
    assert_string_equal(a.shards[0], "http://ch1:8123");
    assert_string_equal(a.shards[1], "http://[::1]:8124");
    assert_string_equal(a.shards[2], "http://ch3:1");
    assert_string_equal(a.database, "spanflame");
    assert_ok(parse("https://ch1:8443/a_1", &a, &why));
    assert_int_equal(a.n_shards, 1);
    assert_string_equal(a.shards[0], "https://ch1:8443");
}

TEST(remote_address, refuses_what_it_would_have_to_guess)
{
    static const struct {
        const char *url, *words;
    } bad[] = {
        {"", "must be clickhouse://"},
        {"ch1:8123/x", "must be clickhouse://"},
        {"tcp://ch1:9000/x", "must be clickhouse://"},
        {"clickhouse://ch1:8123", "must be clickhouse://"},
        {"clickhouse:///x", "is not HOST:PORT"},
        {"clickhouse://ch1:8123/", "name of a database"},
        {"clickhouse://ch1:8123/x;DROP", "name of a database"},
        {"clickhouse://ch1:8123/1x", "name of a database"},
        {"clickhouse://ch1:8123/system", "ClickHouse's own database"},
        {"clickhouse://ch1:8123/INFORMATION_SCHEMA", "ClickHouse's own database"},
        {"clickhouse://ch1/x", "is not HOST:PORT"},
        {"clickhouse://ch1:0/x", "is not HOST:PORT"},
        {"clickhouse://ch1:70000/x", "is not HOST:PORT"},
        {"clickhouse://:8123/x", "is not HOST:PORT"},
        {"clickhouse://ch1:8123,,ch2:8123/x", "is not HOST:PORT"},
        {"clickhouse://ch1:8123,ch1:8123/x", "twice"},
        {"clickhouse://me:secret@ch1:8123/x", "must not hold a user"},
        {"clickhouse://ch 1:8123/x", "not an address"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sf_remote_address a;
        struct sf_why why = {0};
        assert_int_equal(parse(bad[i].url, &a, &why), SF_ERR_INPUT);
        if (!strstr(why.text, bad[i].words))
            fail_msg("%s: %s", bad[i].url, why.text);
        assert_null(strstr(why.text, "secret"));
    }
}

TEST(remote_address, bounds_the_number_of_shards)
{
    struct sf_buf url = {0};
    struct sf_remote_address a;
    struct sf_why why;
    sf_buf_print(&url, "clickhouse://");
    for (int i = 0; i < SF_REMOTE_SHARDS; i++)
        sf_buf_print(&url, "%sh:%d", i ? "," : "", 1000 + i);
    size_t len = url.len;
    sf_buf_print(&url, "/x");
    assert_ok(sf_remote_address_parse(sf_buf_str(&url), &a, &why));
    assert_int_equal(a.n_shards, SF_REMOTE_SHARDS);
    url.len = len;
    sf_buf_print(&url, ",h:9/x");
    assert_int_equal(sf_remote_address_parse(sf_buf_str(&url), &a, &why), SF_ERR_INPUT);
    sf_buf_done(&url);
}
