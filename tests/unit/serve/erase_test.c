#include "serve/own/erase.h"

#include "test.h"

static struct sf_arena req;
static struct sf_why why;

static enum sf_err parse(const char *json, struct sf_erase_request *out)
{
    *out = (struct sf_erase_request){0};
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 4 << 20));
    enum sf_err err = sf_erase_parse_json(sf_str_from(json), 0, &req, out, &why);
    return err ? err : sf_erase_check(out, &why);
}

TEST(erase, understands_traces_services_and_ranges)
{
    struct sf_erase_request e;
    assert_ok(parse("{\"traces\":[\"0a\",\"ff\"]}", &e));
    assert_int_equal(e.which.what, SF_SELECT_TRACES);
    assert_int_equal(e.which.n_traces, 2);
    assert_int_equal(e.which.trace_ids[1].b[15], 0xff);
    assert_ok(parse("{\"service\":\"web\",\"from\":1700000000,\"until\":\"1700000100\"}", &e));
    assert_int_equal(e.which.what, SF_SELECT_SERVICE);
    assert_str(e.which.service, "web");
    assert_int_equal(e.which.from_ns, 1700000000000000000);
    assert_int_equal(e.which.to_ns, 1700000100000000000);
    assert_ok(parse("{\"all\":true,\"from\":1700000000}", &e));
    assert_int_equal(e.which.what, SF_SELECT_ALL);
    assert_true(e.which.to_ns > e.which.from_ns);
    assert_ok(parse("{\"all\":true}", &e));
    assert_int_equal(e.which.what, SF_SELECT_ALL);
}

TEST(erase, never_takes_more_than_was_meant)
{
    struct sf_erase_request e;
    assert_err(parse("{}", &e), SF_ERR_INPUT);
    assert_err(parse("[]", &e), SF_ERR_INPUT);
    assert_err(parse("", &e), SF_ERR_INPUT);
    assert_err(parse("{\"all\":false}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"traces\":[]}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"from\":1700000000}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"traces\":[],\"from\":1700000000}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"service\":null,\"from\":1700000000}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"service\":\"\",\"all\":true}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"all\":null}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"all\":true,\"all\":true}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"traces\":[\"xyz\"]}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"traces\":[\"1\",\"xyz\"]}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"traces\":[\"1\"],\"service\":\"web\"}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"servcie\":\"web\",\"from\":5}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"service\":\"web\",\"from\":\"yesterday\"}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"service\":\"web\",\"from\":20,\"until\":10}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"service\":\"web\",\"until\":0}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"all\":true,\"until\":\"1970-01-01T00:00:00Z\"}", &e), SF_ERR_INPUT);
    assert_err(parse("{\"service\":\"web\"", &e), SF_ERR_INPUT);
    assert_err(parse("{\"service\":\"web\"} x", &e), SF_ERR_INPUT);
    sf_arena_done(&req);
}

TEST(erase, takes_the_same_words_as_parameters)
{
    struct sf_erase_request e = {0};
    struct sf_request r = {.query = SF_STR("trace=0a,0b&from=1700000000&until=1700000001")};
    assert_true(sf_arena_init(&req, 4 << 20));
    assert_ok(sf_erase_parse_params(&r, 0, &req, &e, &why));
    assert_ok(sf_erase_check(&e, &why));
    assert_int_equal(e.which.n_traces, 2);
    assert_int_equal(e.which.to_ns, 1700000001000000000);
    r.query = SF_STR("service=my%20web");
    assert_ok(sf_erase_parse_params(&r, 0, &req, &e, &why));
    assert_str(e.which.service, "my web");
    r.query = SF_STR("traces=0a&dry_run=true");
    assert_ok(sf_erase_parse_params(&r, 0, &req, &e, &why));
    assert_int_equal(e.which.n_traces, 1);
    assert_true(e.is_dry_run);
    struct sf_buf many = {0};
    sf_buf_print(&many, "traces=1");
    for (int i = 1; i < 10000; i++)
        sf_buf_print(&many, ",1");
    r.query = sf_buf_str(&many);
    assert_ok(sf_erase_parse_params(&r, 0, &req, &e, &why));
    assert_int_equal(e.which.n_traces, 10000);
    sf_buf_print(&many, ",1");
    r.query = sf_buf_str(&many);
    assert_err(sf_erase_parse_params(&r, 0, &req, &e, &why), SF_ERR_LIMIT);
    sf_buf_done(&many);
    r.query = SF_STR("all=");
    assert_err(sf_erase_parse_params(&r, 0, &req, &e, &why), SF_ERR_INPUT);
    r.query = SF_STR("service=web&until=0"); /* 0 is not an end to whoever reads it later */
    assert_err(sf_erase_parse_params(&r, 0, &req, &e, &why), SF_ERR_INPUT);
    r.query = SF_STR("service=web&until=now-99y");
    assert_err(sf_erase_parse_params(&r, 5, &req, &e, &why), SF_ERR_INPUT);
    r.query = SF_STR("service=web&from=soon");
    assert_err(sf_erase_parse_params(&r, 0, &req, &e, &why), SF_ERR_INPUT);
    sf_arena_done(&req);
}
