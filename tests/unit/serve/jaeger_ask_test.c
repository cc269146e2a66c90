#include "serve/jaeger/jaeger_ask.h"

#include "test.h"

static struct sf_arena arena;
static struct sf_why why;
static struct sf_jaeger_ask ask;

static enum sf_err from_params(const char *query, bool is_v3)
{
    struct sf_request r = {.query = sf_str_from(query)};
    sf_arena_done(&arena);
    assert_true(sf_arena_init(&arena, 1 << 20));
    sf_jaeger_ask_done(&ask);
    ask = (struct sf_jaeger_ask){0};
    return sf_jaeger_ask_params(&r, is_v3, &arena, &ask, &why);
}

static void done(void)
{
    sf_jaeger_ask_done(&ask);
    sf_arena_done(&arena);
}

static void assert_query(const char *want)
{
    if (!sf_str_eq(sf_buf_str(&ask.query), sf_str_from(want)))
        fail_msg("got  %.*s\nwant %s", SF_STR_ARG(sf_buf_str(&ask.query)), want);
}

TEST(jaeger_ask, writes_a_search_as_conditions_on_one_span)
{
    assert_ok(
        from_params("service=shop&operation=GET%20/&minDuration=100ms&maxDuration=1.5s&limit=7"
                    "&start=1700000000000000&end=1700000001000000&lookback=custom",
                    false));
    assert_query("{ true && resource.service.name = \"shop\" && name = \"GET /\" && duration >= "
                 "100000000ns && duration <= 1500000000ns }");
    assert_int_equal(ask.limit, 7);
    assert_int_equal(ask.from_ns, 1700000000000000000);
    assert_int_equal(ask.to_ns, 1700000001000000000);
    done();
}

TEST(jaeger_ask, compares_tags_as_text_whatever_their_type)
{
    assert_ok(from_params("service=s&tag=code:200&tags=%7B%22a%22%3A%22x%22%7D", false));
    assert_query("{ true && resource.service.name = \"s\" && (span.\"code\" = \"200\" || "
                 "span.\"code\" = 200 || resource.\"code\" = \"200\" || resource.\"code\" = 200 || "
                 "event.\"code\" = \"200\" || event.\"code\" = 200) && (span.\"a\" = \"x\" || "
                 "resource.\"a\" = \"x\" || event.\"a\" = \"x\") }");
    assert_ok(from_params("service=s&tag=error:true&tag=span.kind:client", false));
    assert_query("{ true && resource.service.name = \"s\" && status = error && kind = client }");
    done();
}

TEST(jaeger_ask, knows_both_spellings_of_the_newer_api)
{
    assert_ok(from_params("query.serviceName=a&query.operation_name=b&query.searchDepth=3&"
                          "query.startTimeMin=2023-11-14T22:13:20Z&"
                          "query.start_time_max=2023-11-14T22:13:21Z&query.durationMin=1s&"
                          "query.attributes=%7B%22error%22%3A%22true%22%7D&service=ignored",
                          true));
    assert_query("{ true && resource.service.name = \"a\" && name = \"b\" && duration >= "
                 "1000000000ns && status = error }");
    assert_int_equal(ask.limit, 3);
    assert_int_equal(ask.from_ns, 1700000000000000000);
    assert_int_equal(ask.to_ns, 1700000001000000000);
    done();
}

TEST(jaeger_ask, takes_traces_by_their_ids)
{
    assert_ok(from_params("traceID=ab&traceID=cd", false));
    assert_int_equal(ask.n_ids, 2);
    assert_int_equal(ask.ids[1].b[15], 0xcd);
    done();
}

TEST(jaeger_ask, says_what_is_wrong)
{
    static const struct {
        const char *query, *sentence;
    } bad[] = {
        {"", "parameter 'service' is required"},
        {"service=", "parameter 'service' is required"},
        {"service=a&tag=b", "expecting key:value"},
        {"service=a&tags=%5B%5D", "malformed 'tags' parameter"},
        {"service=a&tags=%7B%22a%22%3A1%7D", "values must be strings"},
        {"service=a&limit=0", "'limit'"},
        {"service=a&limit=2147483648", "'limit'"},
        {"service=a&minDuration=x", "'minDuration'"},
        {"service=a&start=x", "'start'"},
        {"service=a&start=1700000001000000&end=1700000000000000", "start must not be after end"},
        {"traceID=xyz", "hex characters"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_err(from_params(bad[i].query, false), SF_ERR_INPUT);
        if (!strstr(why.text, bad[i].sentence))
            fail_msg("%s: says %s", bad[i].query, why.text);
    }
    done();
}
