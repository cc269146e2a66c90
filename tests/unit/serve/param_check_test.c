#include "serve/param_check.h"

#include <stdlib.h>

#include "base/limits.h"
#include "test.h"

static struct sf_why why;
static uint64_t n_unknown;

static enum sf_err check(const struct sf_route *route, sf_str query)
{
    struct sf_request r = {.query = query};
    memset(&why, 0, sizeof(why));
    n_unknown = 77;
    return sf_param_check(&r, route, &n_unknown, &why);
}

static void refuses(const struct sf_route *route, const char *query, const char *word)
{
    assert_err(check(route, sf_str_from(query)), SF_ERR_INPUT);
    if (!strstr(why.text, word))
        fail_msg("%s: says %s, not %s", query, why.text, word);
}

TEST(param_check, own_calls_take_what_they_know_once)
{
    static const struct sf_route own = {.params = "service  from until label* format=json|text"};
    assert_ok(check(&own, SF_STR("")));
    assert_int_equal(n_unknown, 0);
    assert_ok(check(&own, SF_STR("service=a&from=1&until=2&label=x&label=y&format=text")));
    assert_ok(check(&own, SF_STR("format=json&&service=a%20b&")));
    assert_ok(check(&own, SF_STR("%66rom=1"))); /* escaped is the same name */
    assert_int_equal(n_unknown, 0);
    refuses(&own, "servce=a", "unknown parameter servce; did you mean service");
    refuses(&own, "zzzzzzzzzz=a", "unknown parameter zzzzzzzzzz");
    assert_null(strstr(why.text, "did you mean"));
    refuses(&own, "Service=a", "unknown parameter Service");
    refuses(&own, "%zz=a", "unknown parameter %zz");
    refuses(&own, "service=a&service=b", "service is given more than once");
    refuses(&own, "from=1&%66rom=2", "from is given more than once");
    refuses(&own, "until=1&until=1", "until is given more than once");
    refuses(&own, "format=text&format=text", "format is given more than once");
    refuses(&own, "service=", "service is empty; leave");
    refuses(&own, "service", "service is empty (there is no =)");
    refuses(&own, "label=", "label is empty");
    refuses(&own, "service=%zz", "service holds a broken percent escape");
    refuses(&own, "format=xml", "format=xml is not known here; it is one of json|text");
    refuses(&own, "format=js", "is not known here");
    refuses(&own, "service=a&x=1", "unknown parameter x");
}

TEST(param_check, a_call_without_parameters_takes_none)
{
    static const struct sf_route none = {.params = ""};
    assert_ok(check(&none, SF_STR("")));
    assert_ok(check(&none, SF_STR("&")));
    refuses(&none, "a=1", "unknown parameter a; this endpoint has no parameters");
}

TEST(param_check, guesses_the_nearest_name_and_not_of_long_ones)
{
    static const struct sf_route own = {.params = "trace traces from"};
    char text[70];
    refuses(&own, "tracs=1", "did you mean trace");
    refuses(&own, "tracess=1", "did you mean traces");
    refuses(&own, "fron=1", "did you mean from");
    memset(text, 'f', sizeof(text));
    memcpy(text + 65, "=1", 3);
    refuses(&own, text, "unknown parameter");
    assert_null(strstr(why.text, "did you mean"));
}

TEST(param_check, addresses_people_copy_may_hold_more)
{
    static const struct sf_route loose = {.params = "service from", .is_loose = true};
    assert_ok(check(&loose, SF_STR("service=a&utm=1&utm=2&x")));
    assert_ok(check(&loose, SF_STR("service=")));
    refuses(&loose, "service=a&service=b", "more than once");
    refuses(&loose, "service=%zz", "broken percent escape");
}

TEST(param_check, calls_of_others_count_what_nobody_reads)
{
    static const struct sf_route ask = {.reads = "q limit", .refuses = "blockID blockStart"};
    static const struct sf_route any = {.refuses = "blockID"}, free_one = {0};
    assert_ok(check(&ask, SF_STR("q=1&limit=2&q=3&limit=")));
    assert_int_equal(n_unknown, 0);
    assert_ok(check(&ask, SF_STR("q=1&x=2&y&%zz=1")));
    assert_int_equal(n_unknown, 3);
    assert_err(check(&ask, SF_STR("q=1&blockID=7")), SF_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "blockID is not supported"));
    assert_err(check(&ask, SF_STR("blockStart=7")), SF_ERR_UNSUPPORTED);
    assert_ok(check(&any, SF_STR("x=1")));
    assert_int_equal(n_unknown, 0); /* nobody says what it reads */
    assert_err(check(&any, SF_STR("blockID=7")), SF_ERR_UNSUPPORTED);
    assert_ok(check(&free_one, SF_STR("blockID=7&x")));
    assert_int_equal(n_unknown, 0);
}

/* Too long is an error of every call, and never a parameter that is not there. */
TEST(param_check, a_long_parameter_is_never_ignored)
{
    static const struct sf_route routes[] = {
        {.params = "q"}, {.reads = "q"}, {0}, {.params = "q", .is_loose = true}};
    size_t room = 3 * (size_t)SF_LIMIT_PARAM_LEN + 16;
    char *text = calloc(room, 1);
    for (size_t i = 0; i < 4; i++) {
        memcpy(text, "q=", 2);
        memset(text + 2, 'a', room - 2);
        assert_ok(check(&routes[i], (sf_str){text, 2 + SF_LIMIT_PARAM_LEN}));
        assert_err(check(&routes[i], (sf_str){text, 3 + SF_LIMIT_PARAM_LEN}), SF_ERR_LIMIT);
        assert_non_null(strstr(why.text, "parameter q is longer than 131072"));
        for (size_t k = 2; k + 3 <= room; k += 3) /* it counts decoded */
            memcpy(text + k, "%20", 3);
        assert_ok(check(&routes[i], (sf_str){text, 2 + 3 * (size_t)SF_LIMIT_PARAM_LEN}));
        assert_err(check(&routes[i], (sf_str){text, 5 + 3 * (size_t)SF_LIMIT_PARAM_LEN}),
                   SF_ERR_LIMIT);
    }
    free(text);
}
