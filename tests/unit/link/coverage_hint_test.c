#include "link/coverage_hint.h"

#include "test.h"

static bool has(const char *text, const char *word)
{
    size_t at;
    return sf_str_find(sf_str_from(text), sf_str_from(word), &at);
}

TEST(coverage_hint, has_two_lines_for_every_language)
{
    const char *const languages[] = {"go",   "java", "python", "ruby", "dotnet", "nodejs",
                                     "rust", "c",    "cpp",    "",     "cobol"};
    for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
        for (int what = SF_MISSING_PROFILES; what <= SF_MISSING_SPAN_IDS; what++) {
            struct sf_coverage_hint h = sf_coverage_hint_of((enum sf_missing)what,
                                                            sf_str_from(languages[i]));
            assert_non_null(h.lines[0]);
            assert_non_null(h.lines[1]);
            for (int line = 0; line < 2; line++)
                assert_true(strlen(h.lines[line]) > 10 && !has(h.lines[line], "\n"));
        }
    }
}

/* What only that language's users would recognise. */
TEST(coverage_hint, speaks_the_language_of_the_service)
{
    static const struct {
        const char *language;
        enum sf_missing what;
        const char *word;
    } cases[] = {
        {"go", SF_MISSING_PROFILES, "pyroscope.Start("},
        {"go", SF_MISSING_SPAN_IDS, "NewTracerProvider"},
        {"go", SF_MISSING_SPANS, "otlptracehttp"},
        {"java", SF_MISSING_PROFILES, "-javaagent:pyroscope.jar"},
        {"java", SF_MISSING_SPAN_IDS, "pyroscope-otel.jar"},
        {"java", SF_MISSING_SPANS, "opentelemetry-javaagent.jar"},
        {"python", SF_MISSING_PROFILES, "pyroscope.configure("},
        {"python", SF_MISSING_SPAN_IDS, "PyroscopeSpanProcessor"},
        {"python", SF_MISSING_SPANS, "opentelemetry-instrument"},
        {"nodejs", SF_MISSING_PROFILES, "@pyroscope/nodejs"},
        {"nodejs", SF_MISSING_SPAN_IDS, "wrapWithLabels"},
        {"nodejs", SF_MISSING_SPANS, "auto-instrumentations-node"},
        {"rust", SF_MISSING_PROFILES, "PyroscopeAgent::builder"},
        {"rust", SF_MISSING_SPAN_IDS, "tag_wrapper"},
        {"rust", SF_MISSING_SPANS, "opentelemetry_otlp"},
        {"c", SF_MISSING_PROFILES, "sf_profiling_start("},
        {"c", SF_MISSING_SPAN_IDS, "sf_context_set("},
        {"c", SF_MISSING_SPANS, "sf_span_start("},
        {"cpp", SF_MISSING_PROFILES, "sf_profiling_start("},
        {"cpp", SF_MISSING_SPAN_IDS, "sf_context_set("},
        {"cpp", SF_MISSING_SPANS, "sf_span_start("},
        {"cobol", SF_MISSING_PROFILES, "spanflame record"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_coverage_hint h = sf_coverage_hint_of(cases[i].what,
                                                        sf_str_from(cases[i].language));
        if (!has(h.lines[0], cases[i].word) && !has(h.lines[1], cases[i].word))
            fail_msg("%s: '%s' in neither line", cases[i].language, cases[i].word);
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
}
