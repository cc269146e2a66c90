#include "test.h"

#include "serve/pyroscope/ingest.h"

static struct sf_arena req;
static struct sf_app_name app;
static struct sf_why why;

static enum sf_err parse(const char *text)
{
    if (!req.base && !sf_arena_init(&req, 1 << 20))
        fail();
    sf_arena_reset(&req);
    return sf_ingest_app_name_parse(sf_str_from(text), &req, &app, &why);
}

TEST(ingest, reads_names_with_labels_as_clients_write_them)
{
    assert_ok(parse(" my.app-1/x { env = prod ,path=/a:b c,empty=,} tail"));
    assert_str(app.name, "my.app-1/x");
    assert_int_equal(app.n_labels, 2);
    assert_str(app.labels[0].key, "env");
    assert_str(app.labels[0].val, "prod");
    assert_str(app.labels[1].val, "/a:b c");
    assert_ok(parse("app{a=1,b=2")); /* the incomplete pair is lost */
    assert_int_equal(app.n_labels, 1);
    assert_ok(parse("app{__name__=other}"));
    assert_str(app.name, "other");
    assert_ok(parse("app{}"));
    assert_int_equal(app.n_labels, 0);
}

TEST(ingest, refuses_names_and_keys_that_cannot_be)
{
    static const char *const bad[] = {"", "{a=b}", "a b", "app{=v}", "app{b c=v}", "\xff"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_err(parse(bad[i]), SF_ERR_INPUT);
}

TEST(ingest, reads_times_of_every_length_and_takes_the_rest_for_now)
{
    const int64_t now = INT64_C(1763200000) * 1000000000, s = 1000000000;
    static const struct {
        const char *text;
        int64_t ns;
    } times[] = {
        {"1763200001", INT64_C(1763200001) * 1000000000},
        {"1763200001000", INT64_C(1763200001) * 1000000000},
        {"1763200001000000", INT64_C(1763200001) * 1000000000},
        {"1763200001000000000", INT64_C(1763200001) * 1000000000},
        {"1_763,200 001", INT64_C(1763200001) * 1000000000},
        {"20251115", INT64_C(1763164800) * 1000000000},
    };
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        assert_int_equal(sf_ingest_time(sf_str_from(times[i].text), now), times[i].ns);
    assert_int_equal(sf_ingest_time(SF_STR("now-1h"), now), now - 3600 * s);
    assert_int_equal(sf_ingest_time(SF_STR("-30s"), now), now - 30 * s);
    assert_int_equal(sf_ingest_time(SF_STR("now-5min"), now), now - 300 * s);
    assert_int_equal(sf_ingest_time(SF_STR("1763200001.5"), now), now);
    assert_int_equal(sf_ingest_time(SF_STR(""), now), now);
    assert_int_equal(sf_ingest_time(SF_STR("99999999999999999999999999"), now), now);
}
