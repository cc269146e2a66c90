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
        {"rust", SF_MISSING_PROFILES, "PyroscopeAgentBuilder::new"},
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
    assert_true(has(sf_coverage_hint_of(SF_MISSING_SPAN_IDS, SF_STR("go")).sentence, "pprof.Do"));
    assert_false(has(sf_coverage_hint_of(SF_MISSING_SPAN_IDS, SF_STR("java")).sentence, "pprof"));
    for (int what = 0; what < SF_MISSINGS; what++) {
        struct sf_coverage_hint h = sf_coverage_hint_of((enum sf_missing)what, SF_STR("go"));
        assert_true(strlen(h.kind) > 3 && strlen(h.sentence) > 20);
        for (int other = 0; other < what; other++)
            assert_string_not_equal(h.kind,
                                    sf_coverage_hint_of((enum sf_missing)other, SF_STR("go")).kind);
    }
}

/* A line of the language and kind that holds `word`, filled in. */
static sf_str fill(const char *language, enum sf_missing what, const char *word, const char *name,
                   struct sf_buf *out)
{
    struct sf_coverage_hint h = sf_coverage_hint_of(what, sf_str_from(language));
    const char *line = has(h.lines[0], word) ? h.lines[0] : h.lines[1];
    sf_buf_reset(out);
    sf_coverage_hint_fill(line, sf_str_from(name), SF_STR("http://s:1"), out);
    return sf_buf_str(out);
}

TEST(coverage_hint, a_name_cannot_leave_its_place)
{
    struct sf_buf out = {0};
    const char *evil = "x'; touch y; echo '";
    assert_str(fill("", SF_MISSING_PROFILES, "curl", evil, &out),
               "curl --data-binary @profile "
               "'http://s:1/api/v1/profile?service=x%27%3B%20touch%20y%3B%20echo%20%27'");
    assert_str(fill("", SF_MISSING_SPANS, "OTEL_SERVICE_NAME", evil, &out),
               "OTEL_SERVICE_NAME='x'\\''; touch y; echo '\\'''");
    assert_str(fill("", SF_MISSING_SPANS, "OTEL_SERVICE_NAME", "$(id)\n`id`", &out),
               "OTEL_SERVICE_NAME='$(id)?`id`'");
    assert_str(fill("", SF_MISSING_SPANS, "OTEL_SERVICE_NAME", "", &out), "OTEL_SERVICE_NAME=''");
    assert_str(fill("", SF_MISSING_RATE, "flame", "a\" || '$(id)'\\", &out),
               "spanflame flame --q '{ resource.service.name = \"a\\\" || "
               "'\\''$(id)'\\''\\\\\" }'");
    assert_str(fill("go", SF_MISSING_PROFILES, "pyroscope.Start", "a\"+b(\\", &out),
               "pyroscope.Start(pyroscope.Config{ApplicationName: \"a\\\"+b(\\\\\", ServerAddress: "
               "\"http://s:1\"})");
    assert_str(
        fill("ruby", SF_MISSING_SPANS, "service_name", "#{`id`}\"", &out),
        "OpenTelemetry::SDK.configure { |c| c.service_name = \"\\#{`id`}\\\"\"; c.use_all }");
    assert_str(fill("nodejs", SF_MISSING_PROFILES, "appName", "a' + b\xe2\x80\xa8'", &out),
               "Pyroscope.init({ serverAddress: 'http://s:1', appName: 'a\\' + b?\\'' }); "
               "Pyroscope.start();");
    /* Bytes that are not text, and characters that turn the line around. */
    assert_str(fill("", SF_MISSING_SPANS, "OTEL_SERVICE_NAME", "a\xff\xe2\x80\xae.b", &out),
               "OTEL_SERVICE_NAME='a??.b'");
    sf_buf_done(&out);
}

TEST(coverage_hint, plain_names_stay_plain)
{
    struct sf_buf out = {0};
    assert_str(
        fill("java", SF_MISSING_PROFILES, "PYROSCOPE_APPLICATION_NAME", "shop-eu/cart.v2", &out),
        "PYROSCOPE_APPLICATION_NAME=shop-eu/cart.v2 PYROSCOPE_SERVER_ADDRESS=http://s:1");
    assert_str(fill("python", SF_MISSING_PROFILES, "application_name", "caf\xc3\xa9", &out),
               "pyroscope.configure(application_name=\"caf\xc3\xa9\", "
               "server_address=\"http://s:1\")");
    sf_buf_done(&out);
}
