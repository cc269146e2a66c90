#include "test.h"

#include "base/heap.h"
#include "wire/regex.h"

static struct sf_why why;

TEST(regex, refuses_what_cannot_be_bounded)
{
    static const char *const wrong[] = {
        "a(?=b)",    "a(?!b)",    "(?<=a)b", "(?<!a)b",   "(a)\\1",
        "(?>a+)",    "a++",       "a*+",     "a?+",       "a{2}+",
        "(*ACCEPT)", "(?R)",      "(?1)",    "(?P=n)",    "(?P>n)",
        "\\k<n>",    "\\Ka",      "a{1001}", "a{1,1001}", "a{99999999999999999999}",
        "(?C1)a",    "(?(1)a|b)", "(?|a)",   "\\C"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (!sf_regex_check(sf_str_from(wrong[i]), &why))
            fail_msg("accepted %s", wrong[i]);
    }
}

TEST(regex, takes_what_re2_takes)
{
    static const char *const right[] = {"a+?b*?",   "(?:a|b){2,1000}", "(?i)abc",      "(?i:abc)d",
                                        "(?P<n>a)", "(?<n>a)",         "[]+a]+",       "a{,3}",
                                        "{",        "\\d+\\.\\w{3}",   "[[:alpha:]]+", "\\(?=x"};
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        struct sf_regex *re = NULL;
        if (sf_regex_new(sf_str_from(right[i]), true, &re, &why))
            fail_msg("refused %s: %s", right[i], why.text);
        sf_regex_free(re);
    }
}

TEST(regex, finds_the_leftmost_match_in_bytes)
{
    struct sf_regex *re = NULL;
    struct sf_regex_scratch *s = sf_regex_scratch_new();
    size_t at, end;
    assert_ok(sf_regex_new(SF_STR("acme-[0-9]+"), true, &re, &why));
    assert_int_equal(sf_regex_find(re, SF_STR("\xff ACME-17 acme-2"), 0, s, &at, &end),
                     SF_REGEX_FOUND);
    assert_int_equal(at, 2);
    assert_int_equal(end, 9);
    assert_int_equal(sf_regex_find(re, SF_STR("\xff ACME-17 acme-2"), end, s, &at, &end),
                     SF_REGEX_FOUND);
    assert_int_equal(at, 10);
    assert_int_equal(sf_regex_find(re, SF_STR("acme"), 0, s, &at, &end), SF_REGEX_NONE);
    assert_int_equal(sf_regex_find(re, SF_STR_NONE, 0, s, &at, &end), SF_REGEX_NONE);
    sf_regex_free(re);
    sf_regex_scratch_free(s);
}

TEST(regex, gives_up_instead_of_running_away)
{
    struct sf_regex *re = NULL;
    struct sf_regex_scratch *s = sf_regex_scratch_new();
    size_t at, end;
    assert_ok(sf_regex_new(SF_STR("(a+)+$"), false, &re, &why));
    assert_int_equal(sf_regex_find(re, SF_STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"),
                                   0, s, &at, &end),
                     SF_REGEX_GAVE_UP);
    sf_regex_free(re);
    sf_regex_scratch_free(s);
}

TEST(regex, says_where_a_pattern_is_malformed)
{
    struct sf_regex *re = NULL;
    assert_err(sf_regex_new(SF_STR("a(b"), false, &re, &why), SF_ERR_INPUT);
    assert_non_null(strstr(why.text, "/a(b/"));
    assert_err(sf_regex_new(SF_STR("x(?=y)"), false, &re, &why), SF_ERR_INPUT);
    assert_non_null(strstr(why.text, "at character 2"));
    assert_null(re);
}

TEST(regex, survives_every_failed_allocation)
{
    for (uint64_t n = 1; n < 12; n++) {
        struct sf_regex *re = NULL;
        struct sf_regex_scratch *s;
        sf_heap_fail_after(n);
        if (sf_regex_new(SF_STR("(?i)a|b"), true, &re, &why))
            assert_null(re);
        s = sf_regex_scratch_new();
        sf_heap_fail_after(0);
        sf_regex_scratch_free(s);
        sf_regex_free(re);
    }
}

static bool matches(const char *pattern, sf_str text)
{
    struct sf_regex *re = NULL;
    struct sf_regex_scratch *s = sf_regex_scratch_new();
    enum sf_regex_result result;
    if (sf_regex_new_whole(sf_str_from(pattern), &re, &why))
        fail_msg("%s: %s", pattern, why.text);
    result = sf_regex_match(re, text, s);
    assert_int_not_equal(result, SF_REGEX_GAVE_UP);
    sf_regex_free(re);
    sf_regex_scratch_free(s);
    return result == SF_REGEX_FOUND;
}

TEST(regex, whole_patterns_are_anchored_at_both_ends)
{
    assert_false(matches("SELECT", SF_STR("SELECT items")));
    assert_true(matches("SELECT.*", SF_STR("SELECT\nitems")));
    assert_true(matches("a|ab", SF_STR("ab")));
    assert_false(matches("a$", SF_STR("a\n")));
    assert_true(matches("(?i)get .*", SF_STR("GET /x")));
    assert_true(matches("", SF_STR("")));
    assert_true(matches("\\Q(a)\\E", SF_STR("(a)")));
    assert_true(matches(".", SF_STR("\xc3\xa4")));
    assert_false(matches("b", SF_STR("\xff")));
}

TEST(regex, whole_patterns_cannot_leave_their_group)
{
    static const char *const wrong[] = {"a)|(b", "a)", "(a", "\\", "\\Gx", "\\hx"};
    struct sf_regex *re = NULL;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (!sf_regex_new_whole(sf_str_from(wrong[i]), &re, &why))
            fail_msg("accepted %s", wrong[i]);
    }
}

/* Patterns that take engines of the backtracking kind for ever, on text that almost matches. */
TEST(regex, whole_patterns_are_never_exponential)
{
    static const char *const known[] = {
        "(a*)*c|(a|aa)+d|(.*)(.*)(.*)(.*)x",
        "(a+)+",
        "(a+)+c",
        "([a-zA-Z]+)*c",
        "(a|aa)+c",
        "(a|a?)+c",
        "(.*a){20}c",
        "((a*)*)*c",
        "(((((a+)+)+)+)+)+c",
        "(a?){50}a{50}c",
        "(x+x+)+y|(a+a+)+y",
        "(([a-z])+.)+[A-Z]([a-z])+",
        "([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}([a-z]{2,3})",
        "(?i)(a|A|aa|aA)*c",
        "(a*?)*?c",
        "(?:(?:a|b)*(?:a|b)*)*c",
        ".*.*.*.*.*.*.*=.*",
        "(\\w+\\s?)*c",
    };
    struct sf_regex_scratch *scratch = sf_regex_scratch_new();
    char text[4001];
    memset(text, 'a', sizeof(text));
    text[3999] = 'c'; /* a search for the last character of the pattern finds one */
    text[4000] = 'b';
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        static const size_t lens[] = {0, 1, 30, 200, 4001};
        struct sf_regex *re = NULL;
        assert_ok(sf_regex_new_whole(sf_str_from(known[i]), &re, &why));
        for (size_t k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
            sf_str end = {text + sizeof(text) - lens[k], lens[k]};
            enum sf_regex_result result = sf_regex_match(re, end, scratch);
            if (result == SF_REGEX_FOUND || (result == SF_REGEX_GAVE_UP && lens[k] <= 30))
                fail_msg("%s on %zu characters: %d", known[i], lens[k], (int)result);
        }
        sf_regex_free(re);
    }
    sf_regex_scratch_free(scratch);
    assert_true(matches("(a|aa)+cb", (sf_str){text, sizeof(text)}));
}

TEST(regex, whole_patterns_may_be_as_large_as_re2_takes_them)
{
    static const char *const right[] = {"a{1000}",    "(a{30}){30}", "[[:^space:]]*",
                                        "\\pL+\\PN",  "\\x{1F600}",  "\\x41",
                                        "(?s-i:a.b)", "(?U)a+",      "x*?y"};
    static const char *const wrong[] = {"*a",
                                        "a**",
                                        "+",
                                        "?",
                                        "a|*",
                                        "(?:*)",
                                        "[a",
                                        "[z-a]",
                                        "a{2,1}",
                                        "[\\h]",
                                        "[\\1]",
                                        "\\Z",
                                        "\\pX",
                                        "(?P<n>a)(?P<n>b)",
                                        "(?x) a",
                                        "\\x{110000}",
                                        "[[:nothing:]]",
                                        "(((a{1000}){1000}){1000})"};
    struct sf_regex *re = NULL;
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        if (sf_regex_new_whole(sf_str_from(right[i]), &re, &why))
            fail_msg("refused %s: %s", right[i], why.text);
        sf_regex_free(re);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (!sf_regex_new_whole(sf_str_from(wrong[i]), &re, &why))
            fail_msg("accepted %s", wrong[i]);
    }
}
