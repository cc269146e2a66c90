#include "render/chart.h"

#include <math.h>

#include "base/text.h"
#include "test.h"

static char *draw(struct sf_chart *c, size_t width, struct sf_buf *out)
{
    sf_buf_reset(out);
    c->first_ns = 1700000000LL * 1000000000;
    c->step_ns = 60LL * 1000000000;
    sf_chart_draw(c, width, out);
    sf_buf_add_u8(out, 0);
    assert_true(sf_buf_ok(out));
    return (char *)out->p;
}

TEST(chart, draws_one_series_tall_with_its_axis)
{
    double values[4] = {0, 10, NAN, 5};
    struct sf_chart_series s = {SF_STR("rate"), values};
    struct sf_chart c = {.series = &s, .n_series = 1, .n_steps = 4, .unit = SF_CHART_RATE};
    struct sf_buf out = {0};
    const char *text = draw(&c, 80, &out);
    assert_non_null(strstr(text, "      10/s | \xe2\x96\x88\n")); /* only the second is full */
    assert_non_null(strstr(text, "       0/s |\xe2\x96\x81\xe2\x96\x88 \xe2\x96\x88\n"));
    assert_non_null(strstr(text, "22:13:20 UTC\n"));
    assert_non_null(strstr(text, "rate: least 0/s, most 10/s, last 5/s\n"));
    sf_buf_done(&out);
}

TEST(chart, draws_several_series_on_one_scale_and_within_the_terminal)
{
    double low[30], high[30];
    struct sf_chart_series s[2] = {{SF_STR("resource.service.name=a-very-long-name"), low},
                                   {SF_STR("b \033[31m"), high}};
    struct sf_chart c = {.series = s, .n_series = 2, .n_steps = 30, .unit = SF_CHART_SECONDS};
    struct sf_buf out = {0};
    for (int i = 0; i < 30; i++) {
        low[i] = 0.001;
        high[i] = 1.5;
    }
    for (size_t width = 60; width <= 200; width += 20) {
        sf_str rest = sf_str_from(draw(&c, width, &out)), line;
        while (sf_str_split_next(&rest, '\n', &line))
            assert_true(sf_utf8_width(line) <= width);
        assert_null(memchr(out.p, '\033', out.len));
    }
    assert_non_null(
        strstr((char *)out.p, "\xe2\x96\x82\xe2\x96\x82      1 ms      1 ms      1 ms\n"));
    assert_non_null(
        strstr((char *)out.p, "\xe2\x96\x88\xe2\x96\x88     1.5 s     1.5 s     1.5 s\n"));
    sf_buf_done(&out);
}

TEST(chart, marks_estimates)
{
    double values[2] = {0.25, 0.5};
    struct sf_chart_series s[2] = {{SF_STR("p95"), values}, {SF_STR("p50"), values}};
    struct sf_chart c = {
        .series = s, .n_series = 1, .n_steps = 2, .unit = SF_CHART_SECONDS, .is_estimate = true};
    struct sf_buf out = {0};
    const char *text = draw(&c, 80, &out);
    assert_non_null(strstr(text, "p95: least ~250 ms, most ~500 ms, last ~500 ms\n"));
    assert_non_null(strstr(text, "      0 ns |"));
    c.n_series = 2;
    assert_non_null(strstr(draw(&c, 80, &out), "   ~250 ms   ~500 ms   ~500 ms\n"));
    sf_buf_done(&out);
}

TEST(chart, folds_more_steps_than_columns_into_their_mean_and_says_the_steps_own)
{
    static double values[6400];
    struct sf_chart_series s = {SF_STR("x"), values};
    struct sf_chart c = {.series = &s, .n_series = 1, .n_steps = 6400};
    struct sf_buf out = {0};
    for (int i = 0; i < 6400; i++)
        values[i] = i % 2 ? -4 : 6;
    assert_non_null(strstr(draw(&c, 80, &out), "x: least -4, most 6, last -4\n"));
    sf_buf_done(&out);
}

TEST(chart, survives_values_that_have_no_place)
{
    double values[4] = {INFINITY, -INFINITY, 1e308, -1e308}, nothing[4] = {NAN, NAN, NAN, NAN};
    struct sf_chart_series s[2] = {{SF_STR(""), values}, {SF_STR(""), nothing}};
    struct sf_chart c = {.series = s, .n_series = 2, .n_steps = 4};
    struct sf_buf out = {0};
    for (int unit = 0; unit < 3; unit++) {
        c.unit = (enum sf_chart_unit)unit;
        c.n_series = 2;
        draw(&c, 1, &out);
        c.n_series = 1;
        draw(&c, 80, &out);
        c.n_series = 0;
        assert_string_equal(draw(&c, 80, &out), "");
    }
    sf_buf_done(&out);
}
