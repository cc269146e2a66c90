#include "test.h"

#include "base/buf.h"
#include "base/heap.h"
#include "regex/regex.h"
#include "regex/regex_program.h"

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
        if (!sf_regex_syntax_check(sf_str_from(wrong[i]), &why))
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
    assert_false(matches(".*", SF_STR("b\xff")));
    assert_true(matches("\\S*x", SF_STR("\xc3\xa4x")));
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
        "(a{1,31}){1,31}c",
        "(.*a){500}c",
        "((a?){10}){50}c",
        "(a{0,500}){2}c",
        "(.{1,30}a{1,30}){1,30}c",
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
            if (result != SF_REGEX_NONE)
                fail_msg("%s on %zu characters: %d", known[i], lens[k], (int)result);
        }
        sf_regex_free(re);
    }
    sf_regex_scratch_free(scratch);
    assert_true(matches("(a|aa)+cb", (sf_str){text, sizeof(text)}));
}

TEST(regex, whole_patterns_may_be_as_large_as_re2_takes_them)
{
    static const char *const right[] = {"a{1000}",    "(a{31}){31}", "[[:^space:]]*",
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
                                        "(a{1,50}){1,50}",
                                        "((a{10}){10}){11}",
                                        "(a{2,}){501}",
                                        "a{2}{3}",
                                        "a*{3}",
                                        "[\\b]",
                                        "[\\Q]\\E]",
                                        "a\\E",
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

TEST(regex, repeats_in_repeats_are_refused_in_words)
{
    assert_err(sf_regex_check_whole(SF_STR("x(a{1,50}){1,50}"), &why), SF_ERR_INPUT);
    assert_non_null(strstr(why.text, "/x(a{1,50}){1,50}/"));
    assert_non_null(strstr(why.text, "repeats in repeats go up to 1,000"));
    assert_err(sf_regex_check_whole(SF_STR("(((abcdefghijkl){10}|[xyz]{10,}){10}(a|b|c){10}"
                                           "(ab|cd){10}){10}(((q|rr|sss|tttt){10}){10}){10}"
                                           "(abcdefghijklmnopqrstuvwxyz0123456789){1000}"
                                           "(abcdefghijklmnopqrstuvwxyz0123456789){1000}"
                                           "(abcdefghijklmnopqrstuvwxyz0123456789){1000}"),
                                    &why),
               SF_ERR_INPUT);
    assert_non_null(strstr(why.text, "too large"));
}

/* ---- a program finds what PCRE2 finds ---- */

static uint32_t rand_below(uint64_t *state, uint32_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % n;
}

static void make_pattern(struct sf_buf *out, uint64_t *state, int depth)
{
    static const char *const items[] = {"a",           "b",
                                        "a",           "b",
                                        "c",           ".",
                                        "\\w",         "\\d",
                                        "\\S",         "[ab]",
                                        "[^a]",        "[]a]",
                                        "\xc3\xa4",    "\\x{e4}",
                                        "\\x41",       "\\pL",
                                        "\\p{Lu}",     "\\PL",
                                        "\\.",         "^",
                                        "$",           "\\b",
                                        "\\B",         "\\A",
                                        "\\z",         "\\Qa.\\E",
                                        "(?i)k",       "(?s)x",
                                        "[[:upper:]]", "[a-c\\d-]",
                                        "\\n",         "(?-s).",
                                        "(?m)^",       "(?m)$",
                                        "{",           "a{,2}",
                                        "(?i:s)",      "(?i)\xc3\x84",
                                        "\\012",       "\\t"};
    static const char *const repeats[] = {"*",     "+",     "?",    "*?",  "{2}",
                                          "{1,3}", "{0,2}", "{2,}", "{0}", "+?"};
    uint32_t n = 1 + rand_below(state, 4);
    for (uint32_t i = 0; i < n; i++) {
        if (depth && rand_below(state, 3) == 0) {
            static const char *const opens[] = {"(", "(?:", "(?i:", "(?P<n%u>", "(?m:", "(?-s:"};
            char open[16];
            snprintf(open, sizeof(open), opens[rand_below(state, 6)], rand_below(state, 1u << 20));
            sf_buf_add_str(out, sf_str_from(open));
            make_pattern(out, state, depth - 1);
            if (rand_below(state, 2)) {
                sf_buf_add_str(out, SF_STR("|"));
                make_pattern(out, state, depth - 1);
            }
            sf_buf_add_str(out, SF_STR(")"));
        } else {
            sf_buf_add_str(out,
                           sf_str_from(items[rand_below(state, sizeof(items) / sizeof(*items))]));
        }
        if (rand_below(state, 3) == 0)
            sf_buf_add_str(
                out, sf_str_from(repeats[rand_below(state, sizeof(repeats) / sizeof(*repeats))]));
    }
}

TEST(regex, programs_find_what_pcre2_finds)
{
    static const char *const pieces[] = {"a",  "b", "c",  "A", "k",        "K",
                                         "1",  " ", "\n", ".", "\xc3\xa4", "\xc3\x84",
                                         "\t", "]", "{",  "x", "s",        "\xe2\x84\xaa"};
    struct sf_regex_scratch *scratch = sf_regex_scratch_new();
    struct sf_buf pattern = {0}, text = {0};
    uint64_t seed = 7;
    unsigned n_compared = 0, n_found = 0;
    for (unsigned round = 0; round < 4000; round++) {
        struct sf_regex *re = NULL;
        struct sf_regex_program *p;
        sf_buf_reset(&pattern);
        make_pattern(&pattern, &seed, 3);
        if (sf_regex_new_whole(sf_buf_str(&pattern), &re, &why))
            continue; /* a repeat of nothing, say */
        p = sf_regex_program_new(sf_buf_str(&pattern));
        assert_non_null(p);
        for (unsigned i = 0; i < 20; i++) {
            uint32_t n = rand_below(&seed, 7);
            bool is_found;
            enum sf_regex_result right;
            sf_buf_reset(&text);
            while (n--)
                sf_buf_add_str(
                    &text,
                    sf_str_from(pieces[rand_below(&seed, sizeof(pieces) / sizeof(*pieces))]));
            right = sf_regex_match(re, sf_buf_str(&text), scratch);
            is_found = sf_regex_program_walk(p, sf_buf_str(&text), NULL, NULL) ==
                       SF_REGEX_WALK_FOUND;
            if (right != SF_REGEX_GAVE_UP && is_found != (right == SF_REGEX_FOUND))
                fail_msg("/%.*s/ on '%.*s': PCRE2 %d, the program %d",
                         SF_STR_ARG(sf_buf_str(&pattern)), SF_STR_ARG(sf_buf_str(&text)),
                         (int)right, (int)is_found);
            n_compared++;
            n_found += is_found;
        }
        sf_regex_program_free(p);
        sf_regex_free(re);
    }
    assert_true(n_compared > 20000 && n_found > 1000);
    sf_buf_done(&pattern);
    sf_buf_done(&text);
    sf_regex_scratch_free(scratch);
}

static bool stop_at_once(void *arg)
{
    ++*(unsigned *)arg;
    return false;
}

TEST(regex, a_long_walk_asks_whether_to_go_on)
{
    struct sf_regex *re = NULL;
    struct sf_regex_scratch *scratch = sf_regex_scratch_new();
    static char text[200000];
    unsigned n_asked = 0;
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 2] = 'c';
    assert_ok(sf_regex_new_whole(SF_STR("(.*a){500}c"), &re, &why));
    sf_regex_scratch_watch(scratch, stop_at_once, &n_asked);
    assert_int_equal(sf_regex_match(re, (sf_str){text, sizeof(text)}, scratch), SF_REGEX_GAVE_UP);
    assert_int_equal(n_asked, 1);
    sf_regex_free(re);
    sf_regex_scratch_free(scratch);
}

TEST(regex, gives_out_groups)
{
    struct sf_regex_scratch *scratch = sf_regex_scratch_new();
    struct sf_regex *re = NULL;
    sf_str groups[SF_REGEX_GROUPS];
    assert_ok(sf_regex_new_grouped(SF_STR("([a-z]+):(\\d+)(/x)?"), &re, &why));
    assert_int_equal(sf_regex_groups(re, SF_STR("host:80"), scratch, groups), SF_REGEX_FOUND);
    assert_true(sf_str_eq(groups[0], SF_STR("host:80")) && sf_str_eq(groups[1], SF_STR("host")));
    assert_true(sf_str_eq(groups[2], SF_STR("80")) && groups[3].len == 0 && groups[9].len == 0);
    assert_int_equal(sf_regex_groups(re, SF_STR("host:80/"), scratch, groups), SF_REGEX_NONE);
    assert_int_equal(sf_regex_groups(re, SF_STR("h\xff:80"), scratch, groups), SF_REGEX_NONE);
    sf_regex_free(re);
    re = NULL;
    assert_ok(sf_regex_new_grouped(SF_STR("(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)"), &re, &why));
    assert_int_equal(sf_regex_groups(re, SF_STR("abcdefghijk"), scratch, groups), SF_REGEX_FOUND);
    assert_true(sf_str_eq(groups[9], SF_STR("i"))); /* those there is space for */
    sf_regex_free(re);
    sf_regex_scratch_free(scratch);
}

TEST(regex, takes_long_lists_of_words)
{
    struct sf_regex_scratch *scratch = sf_regex_scratch_new();
    struct sf_regex *re = NULL;
    struct sf_buf pattern = {0};
    assert_non_null(scratch);
    for (int i = 5000; i > 0; i--)
        sf_buf_print(&pattern, "pod-%05d\\.a|", i);
    sf_buf_print(&pattern, "\xc3\xa4|last\\|one");
    assert_ok(sf_regex_check_whole(sf_buf_str(&pattern), &why));
    assert_ok(sf_regex_new_whole(sf_buf_str(&pattern), &re, &why));
    static const struct {
        const char *text;
        bool is_in;
    } cases[] = {{"pod-00001.a", true},  {"pod-05000.a", true}, {"pod-05001.a", false},
                 {"pod-00001xa", false}, {"pod-00001.", false}, {"", false},
                 {"\xc3\xa4", true},     {"last|one", true},    {"last", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(sf_regex_match(re, sf_str_from(cases[i].text), scratch),
                         cases[i].is_in ? SF_REGEX_FOUND : SF_REGEX_NONE);
    sf_regex_free(re);
    re = NULL;
    sf_buf_print(&pattern, "|x*"); /* no word: the bound holds */
    assert_err(sf_regex_new_whole(sf_buf_str(&pattern), &re, &why), SF_ERR_LIMIT);
    sf_buf_done(&pattern);
    sf_regex_scratch_free(scratch);
}

TEST(regex, knows_what_every_match_holds)
{
    static const struct {
        const char *pattern, *needs;
    } cases[] = {{".*list.*", "list"},
                 {"/cart/.*", "/cart/"},
                 {"GET /a.+/item", "GET /a"},
                 {"(a|b)cd(ef)g?", "cdef"},
                 {"a\\.b[0-9]+long", "long"},
                 {"x{3}yz", "yz"},
                 {"(abc)*d", "d"},
                 {"abc|abd", ""},
                 {"(?i)abc/", "/"},
                 {".*", ""},
                 {"", ""},
                 {"\xc3\xa4\xc3\xb6.", "\xc3\xa4\xc3\xb6"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_regex *re = NULL;
        assert_ok(sf_regex_new_whole(sf_str_from(cases[i].pattern), &re, &why));
        if (!sf_str_eq(sf_regex_needs(re), sf_str_from(cases[i].needs)))
            fail_msg("%s needs %.*s", cases[i].pattern, SF_STR_ARG(sf_regex_needs(re)));
        sf_regex_free(re);
    }
}

/* Patterns of which only a substring is asked match what PCRE2 would match. */
TEST(regex, looks_for_a_substring_without_matching)
{
    static const struct {
        const char *pattern, *text;
        bool is_in;
    } cases[] = {
        {".*ab.*", "ab", true},        {".*ab.*", "xab\ny", true},  {".*ab.*", "a", false},
        {".*ab.*", "", false},         {".*ab.*", "ab\xff", false}, {".*ab.+", "ab", false},
        {".+ab.*", "ab", false},       {".*ab", "abx", false},      {"ab.*", "xab", false},
        {".*(ab).*", "xaby", true},    {".*a.*b.*", "xb", false},   {".*a.*b.*", "xa_b", true},
        {"(?-s).*ab.*", "\nab", false}};
    struct sf_regex_scratch *scratch = sf_regex_scratch_new();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_regex *re = NULL;
        assert_ok(sf_regex_new_whole(sf_str_from(cases[i].pattern), &re, &why));
        if ((sf_regex_match(re, sf_str_from(cases[i].text), scratch) == SF_REGEX_FOUND) !=
            cases[i].is_in)
            fail_msg("%s on %s", cases[i].pattern, cases[i].text);
        sf_regex_free(re);
    }
    sf_regex_scratch_free(scratch);
}
