#include "test.h"

#include "spanflame.h"

#define GOOD "00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01"

TEST(traceparent, comes_back_as_it_went)
{
    sf_context c;
    char text[SF_TRACEPARENT_CAP];
    assert_int_equal(sf_context_parse(GOOD, "a=1,b@c=x y", &c), 0);
    assert_int_equal(c.flags, 1);
    assert_true(c.is_remote);
    assert_string_equal(c.tracestate, "a=1,b@c=x y");
    assert_int_equal(sf_traceparent(&c, text), 0);
    assert_string_equal(text, GOOD);
}

TEST(traceparent, of_a_later_version_is_read_as_far_as_known)
{
    sf_context c;
    assert_int_equal(
        sf_context_parse("cc-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01-more", NULL, &c),
        0);
    assert_int_equal(
        sf_context_parse("00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01-more", NULL, &c),
        -1);
    assert_int_equal(
        sf_context_parse("cc-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01x", NULL, &c), -1);
}

TEST(traceparent, that_is_wrong_is_refused)
{
    static const char *const bad[] = {
        NULL,
        "",
        "00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174",
        "00-00000000000000000000000000000000-eee19b7ec3c1b174-01",
        "00-5b8efff798038103d269b633813fc60c-0000000000000000-01",
        "ff-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01",
        "00-5B8EFFF798038103D269B633813FC60C-eee19b7ec3c1b174-01",
        "00_5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01",
        "00-5b8efff798038103d269b633813fc60g-eee19b7ec3c1b174-01",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sf_context c = {.flags = 9};
        assert_int_equal(sf_context_parse(bad[i], NULL, &c), -1);
        assert_int_equal(c.flags, 9);
    }
}

TEST(traceparent, stays_when_tracestate_is_wrong)
{
    static const char *const bad[] = {"", "novalue", "UP=1", "a=\x01", "=x"};
    char many[600];
    sf_context c;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(sf_context_parse(GOOD, bad[i], &c), 0);
        assert_string_equal(c.tracestate, "");
    }
    memset(many, 'a', sizeof(many) - 1);
    many[sizeof(many) - 1] = 0;
    many[1] = '=';
    assert_int_equal(sf_context_parse(GOOD, many, &c), 0);
    assert_string_equal(c.tracestate, "");
}

TEST(traceparent, of_nothing_is_not_written)
{
    sf_context c = {0};
    char text[SF_TRACEPARENT_CAP];
    assert_int_equal(sf_traceparent(&c, text), -1);
    assert_int_equal(sf_traceparent(NULL, text), -1);
    assert_int_equal(sf_span_context(0, &c), -1);
}
