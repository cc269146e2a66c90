#include "http/request.h"

#include "test.h"

TEST(request, finds_the_first_header_of_a_name)
{
    struct sf_header headers[] = {
        {SF_STR("a"), SF_STR("1")}, {SF_STR("b"), SF_STR("2")}, {SF_STR("b"), SF_STR("3")}};
    struct sf_request r = {.headers = headers, .n_headers = 3};

    assert_str(sf_request_header(&r, SF_STR("b")), "2");
    assert_int_equal(sf_request_header(&r, SF_STR("c")).len, 0);
}

TEST(request, decodes_query_parameters)
{
    struct sf_request r = {.query = SF_STR("q=%7B%20name+%3D%20x%7D&empty=&flag&q=second&%61b=c")};
    struct sf_buf out = {0};

    assert_true(sf_request_param(&r, SF_STR("q"), &out));
    assert_str(sf_buf_str(&out), "{ name = x}");
    assert_true(sf_request_param(&r, SF_STR("empty"), &out));
    assert_int_equal(out.len, 0);
    assert_true(sf_request_param(&r, SF_STR("flag"), &out));
    assert_int_equal(out.len, 0);
    assert_true(sf_request_param(&r, SF_STR("ab"), &out));
    assert_str(sf_buf_str(&out), "c");
    assert_false(sf_request_param(&r, SF_STR("other"), &out));
    assert_int_equal(out.len, 0);
    sf_buf_done(&out);
}

TEST(request, takes_broken_escapes_for_absent_parameters)
{
    static const char *const broken[] = {"q=%", "q=%4", "q=%zz", "q=a%0"};
    struct sf_buf out = {0};

    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        struct sf_request r = {.query = sf_str_from(broken[i])};
        assert_false(sf_request_param(&r, SF_STR("q"), &out));
    }
    sf_buf_done(&out);
}

TEST(request, keeps_header_values_valid_while_more_are_added)
{
    struct sf_response r = {.status = 200};
    char val[300];

    memset(val, 'x', sizeof(val));
    for (int i = 0; i < SF_RESPONSE_HEADERS_MAX; i++) {
        val[0] = (char)('a' + i);
        assert_true(sf_response_header(&r, "name", (sf_str){val, sizeof(val)}));
    }
    assert_false(sf_response_header(&r, "name", SF_STR("one too many")));
    for (int i = 0; i < SF_RESPONSE_HEADERS_MAX; i++) {
        assert_int_equal(r.headers[i].val.p[0], 'a' + i);
        assert_int_equal(r.headers[i].val.len, sizeof(val));
    }
    sf_response_reset(&r);
    assert_int_equal(r.n_headers, 0);
    assert_int_equal(r.status, 0);
    sf_response_done(&r);
    sf_response_done(&r);
}
