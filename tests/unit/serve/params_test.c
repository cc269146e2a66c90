#include "serve/params.h"

#include "test.h"

#define NS 1000000000LL
static const int64_t now_ns = 1700000000 * NS;

static struct sf_request with_query(const char *query)
{
    return (struct sf_request){.query = sf_str_from(query)};
}

TEST(params, default_to_the_last_hour)
{
    struct sf_request r = with_query("");
    int64_t from_ns, until_ns;
    assert_ok(sf_params_range(&r, now_ns, 3600 * NS, &from_ns, &until_ns, NULL));
    assert_int_equal(until_ns, now_ns);
    assert_int_equal(from_ns, now_ns - 3600 * NS);
    r = with_query("until=now-1h&from=now-2h");
    assert_ok(sf_params_range(&r, now_ns, 3600 * NS, &from_ns, &until_ns, NULL));
    assert_int_equal(from_ns, now_ns - 7200 * NS);
    r = with_query("from=5&until=4");
    assert_err(sf_params_range(&r, now_ns, 3600 * NS, &from_ns, &until_ns, NULL), SF_ERR_INPUT);
    r = with_query("from=yesterday");
    assert_err(sf_params_range(&r, now_ns, 3600 * NS, &from_ns, &until_ns, NULL), SF_ERR_INPUT);
}

TEST(params, say_what_is_wrong_with_a_trace_id_in_known_words)
{
    sf_trace_id id;
    struct sf_why why;
    assert_ok(sf_params_trace_id(SF_STR("ABC"), &id, &why));
    assert_int_equal(id.b[14], 0x0a);
    assert_int_equal(id.b[15], 0xbc);
    assert_err(sf_params_trace_id(SF_STR("12x4"), &id, &why), SF_ERR_INPUT);
    assert_string_equal(
        why.text, "trace IDs can only contain hex characters: invalid character 'x' at position 3");
    assert_err(sf_params_trace_id(SF_STR("111111111111111111111111111111111"), &id, &why),
               SF_ERR_INPUT);
    assert_string_equal(why.text, "trace IDs can't be larger than 128 bits");
}

TEST(params, want_both_start_and_end_in_order)
{
    struct sf_why why;
    int64_t from_ns = 1, to_ns = 1;
    struct sf_request r = with_query("");
    assert_ok(sf_params_start_end(&r, &from_ns, &to_ns, &why));
    assert_int_equal(from_ns, 0);
    assert_int_equal(to_ns, 0);
    r = with_query("start=10&end=20");
    assert_ok(sf_params_start_end(&r, &from_ns, &to_ns, &why));
    assert_int_equal(from_ns, 10 * NS);
    assert_int_equal(to_ns, 20 * NS);
    r = with_query("start=20&end=20");
    assert_err(sf_params_start_end(&r, &from_ns, &to_ns, &why), SF_ERR_INPUT);
    assert_string_equal(why.text,
                        "http parameter start must be before end. received start=20 end=20");
    r = with_query("start=10");
    assert_err(sf_params_start_end(&r, &from_ns, &to_ns, &why), SF_ERR_INPUT);
    r = with_query("start=ten&end=20");
    assert_err(sf_params_start_end(&r, &from_ns, &to_ns, &why), SF_ERR_INPUT);
}
