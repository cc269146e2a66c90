#include "link/coverage_hint.h"

#include "test.h"

TEST(coverage_hint, has_two_lines_for_every_language)
{
    const char *const languages[] = {"go",     "java", "python", "ruby", "dotnet",
                                     "nodejs", "rust", "cpp",    "",     "cobol"};
    for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
        for (int what = SF_MISSING_PROFILES; what <= SF_MISSING_SPAN_IDS; what++) {
            struct sf_coverage_hint h = sf_coverage_hint_of((enum sf_missing)what,
                                                            sf_str_from(languages[i]));
            assert_non_null(h.lines[0]);
            assert_non_null(h.lines[1]);
        }
    }
}

TEST(coverage_hint, names_what_is_missing)
{
    for (int what = 0; what < SF_MISSINGS; what++) {
        struct sf_coverage_hint h = sf_coverage_hint_of((enum sf_missing)what, SF_STR("go"));
        assert_true(strlen(h.kind) > 3 && strlen(h.sentence) > 20);
        for (int other = 0; other < what; other++)
            assert_string_not_equal(h.kind,
                                    sf_coverage_hint_of((enum sf_missing)other, SF_STR("go")).kind);
    }
    size_t at;
    struct sf_coverage_hint go = sf_coverage_hint_of(SF_MISSING_SPAN_IDS, SF_STR("go"));
    assert_true(sf_str_find(sf_str_from(go.lines[1]), SF_STR("NewTracerProvider"), &at));
}
