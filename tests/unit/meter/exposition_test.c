#include "meter/exposition.h"

#include "strict_text.h"

static const char *text_of(struct sf_buf *b)
{
    sf_buf_add_u8(b, 0);
    assert_true(sf_buf_ok(b));
    return (const char *)b->p;
}

TEST(exposition, names_counters_as_each_format_wants)
{
    struct sf_buf plain = {0}, open = {0};
    struct sf_exposition e = {.out = &plain}, o = {.out = &open, .is_open_metrics = true};
    struct sf_exposition *both[] = {&e, &o};
    for (size_t i = 0; i < 2; i++) {
        sf_exposition_family(both[i], "spanflame_x", SF_METRIC_COUNTER, "Things.");
        sf_exposition_u64(both[i], NULL, 0, 7);
        sf_exposition_end(both[i]);
    }
    assert_string_equal(text_of(&plain), "# HELP spanflame_x_total Things.\n"
                                         "# TYPE spanflame_x_total counter\n"
                                         "spanflame_x_total 7\n");
    assert_string_equal(text_of(&open), "# HELP spanflame_x Things.\n"
                                        "# TYPE spanflame_x counter\n"
                                        "spanflame_x_total 7\n"
                                        "# EOF\n");
    sf_buf_done(&plain);
    sf_buf_done(&open);
}

TEST(exposition, escapes_labels_and_replaces_broken_utf8)
{
    struct sf_buf out = {0};
    struct sf_exposition e = {.out = &out};
    struct sf_metric_label label = {"name", SF_STR("a\"b\\c\nd\xff"
                                                   "e\xc3\xa9")};
    sf_exposition_family(&e, "g", SF_METRIC_GAUGE, "One.");
    sf_exposition_f64(&e, &label, 1, 0.5);
    const char *text = text_of(&out);
    assert_non_null(strstr(text, "g{name=\"a\\\"b\\\\c\\nd?e\xc3\xa9\"} 0.5\n"));
    assert_int_equal(strict_text_check(text, false), 1);
    sf_buf_done(&out);
}

TEST(exposition, accumulates_histogram_buckets_and_shows_exemplars_only_in_openmetrics)
{
    static const double bounds[] = {0.5, 1};
    static const uint64_t counts[] = {2, 0, 3};
    struct sf_exemplar exemplars[3] = {
        {.value_s = 0.25, .time_ns = 1700000000123456789}, {.value_s = -1}, {.value_s = -1}};
    exemplars[0].trace_id.b[15] = 0xab;
    struct sf_buf plain = {0}, open = {0};
    struct sf_exposition e = {.out = &plain}, o = {.out = &open, .is_open_metrics = true};
    struct sf_exposition *both[] = {&e, &o};
    for (size_t i = 0; i < 2; i++) {
        sf_exposition_family(both[i], "h", SF_METRIC_HISTOGRAM, "Times.");
        sf_exposition_histogram(both[i], NULL, 0, bounds, 2, counts, 7.5, exemplars);
        sf_exposition_end(both[i]);
    }
    const char *text = text_of(&plain);
    assert_non_null(strstr(text, "h_bucket{le=\"0.5\"} 2\nh_bucket{le=\"1.0\"} 2\n"
                                 "h_bucket{le=\"+Inf\"} 5\nh_sum 7.5\nh_count 5\n"));
    assert_int_equal(strict_text_check(text, false), 5);
    text = text_of(&open);
    assert_non_null(strstr(text, "h_bucket{le=\"0.5\"} 2 # "
                                 "{traceID=\"000000000000000000000000000000ab\"} 0.25 "
                                 "1700000000.123\n"));
    assert_int_equal(strict_text_check(text, true), 5);
    sf_buf_done(&plain);
    sf_buf_done(&open);
}

TEST(exposition, picks_openmetrics_only_when_a_scraper_prefers_it)
{
    assert_true(sf_exposition_wants_open_metrics(
        SF_STR("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2")));
    assert_true(sf_exposition_wants_open_metrics(SF_STR("application/openmetrics-text")));
    assert_false(sf_exposition_wants_open_metrics(SF_STR("*/*")));
    assert_false(sf_exposition_wants_open_metrics(SF_STR_NONE));
    assert_false(
        sf_exposition_wants_open_metrics(SF_STR("text/plain, application/openmetrics-text;q=0.1")));
    assert_false(sf_exposition_wants_open_metrics(SF_STR("application/openmetrics-text;q=0")));
}
