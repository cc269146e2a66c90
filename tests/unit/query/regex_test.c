#include "test.h"

#include "query/regex.h"

static bool matches(const char *pattern, sf_str text)
{
    struct sf_regex *re;
    struct sf_why why;
    bool is_match = false;
    if (sf_regex_new(sf_str_from(pattern), &re, &why))
        fail_msg("%s: %s", pattern, why.text);
    assert_ok(sf_regex_match(re, text, &is_match, &why));
    sf_regex_free(re);
    return is_match;
}

TEST(regex, is_anchored_at_both_ends)
{
    assert_false(matches("SELECT", SF_STR("SELECT items")));
    assert_true(matches("SELECT.*", SF_STR("SELECT\nitems")));
    assert_true(matches("a|ab", SF_STR("ab")));
    assert_false(matches("a$", SF_STR("a\n")));
    assert_true(matches("(?i)get .*", SF_STR("GET /x")));
    assert_true(matches("", SF_STR("")));
    assert_true(matches("\\Q(a)\\E", SF_STR("(a)")));
}

TEST(regex, survives_text_that_is_not_utf8)
{
    assert_false(matches("b", SF_STR("\xff")));
}

TEST(regex, refuses_what_re2_does_not_have)
{
    static const char *const bad[] = {"(?=a)",   "(?!a)", "(?<=a)b", "(?<!a)b", "(?>a)",
                                      "(a)\\1",  "a++",   "a**",     "(*UCP)a", "a{1001}",
                                      "(?(1)a)", "\\K",   "\\Ga",    "[a",      "a)",
                                      "(a",      "a)|(b", "\\",      "(?#x)",   "(?R)"};
    struct sf_regex *re;
    struct sf_why why;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (!sf_regex_new(sf_str_from(bad[i]), &re, &why))
            fail_msg("%s is accepted", bad[i]);
    }
}

TEST(regex, is_never_exponential)
{
    char text[4001];
    struct sf_regex *re;
    struct sf_why why;
    bool is_match = true;
    memset(text, 'a', sizeof(text));
    text[4000] = 'b';
    assert_ok(sf_regex_new(SF_STR("(a*)*c|(a|aa)+d|(.*)(.*)(.*)(.*)x"), &re, &why));
    if (sf_regex_match(re, (sf_str){text, sizeof(text)}, &is_match, &why) == SF_OK)
        assert_false(is_match);
    sf_regex_free(re);
}
