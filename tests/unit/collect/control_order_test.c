#include "test.h"

#include "collect/lib/control_order.h"
#include "collect/lib/sample_kind.h"

static struct sf_control_order d;

static bool parse(const char *text)
{
    return sf_control_order_parse(sf_str_from(text), &d);
}

TEST(control_order, reads_all_that_a_server_says)
{
    assert_true(parse("version 0123456789abcdef\nenabled false\nrate.cpu 200\nrate.wall 50\n"
                      "rate.until 1794851091751\nbudget 0.5%\nsomething new of a later server\n"
                      "capture fedcba9876543210 cpu,wall 1000 30\n"));
    assert_string_equal(d.version, "0123456789abcdef");
    assert_true(d.is_off && d.cpu_hz == 200 && d.wall_hz == 50);
    assert_true(d.rates_until_ms == 1794851091751 && d.has_budget && d.budget_per_10000 == 50);
    assert_string_equal(d.capture, "fedcba9876543210");
    assert_int_equal(d.capture_kinds, 1u << SF_SAMPLES_CPU | 1u << SF_SAMPLES_WALL);
    assert_true(d.capture_hz == 1000 && d.capture_s == 30);
    assert_true(parse("version 0123456789abcdef\nconditional.share 12.5%\n"
                      "conditional.slow_request_threshold 250ms\nconditional.later 3\n"));
    assert_int_equal(__builtin_popcountll(d.has_conditions), 2);
    assert_int_equal(d.conditions.share_per_10000, 1250);
    assert_int_equal(d.conditions.slow_request_ns, 250000000);
    assert_true(parse("version 0123456789abcdef\n"));
    assert_true(!d.is_off && !d.cpu_hz && !d.has_budget && !d.capture[0]);
}

TEST(control_order, obeys_nothing_of_what_it_does_not_understand)
{
    static const char *const bad[] = {
        "",
        "hello",
        "enabled true\n",
        "version 12\n",
        "version 0123456789abcdeg\n",
        "version 0123456789abcdef\nenabled maybe\n",
        "version 0123456789abcdef\nrate.cpu 1001\n",
        "version 0123456789abcdef\nrate.cpu 0\n",
        "version 0123456789abcdef\nrate.cpu -1\n",
        "version 0123456789abcdef\nbudget 101%\n",
        "version 0123456789abcdef\nconditional.share many\n",
        "version 0123456789abcdef\nrate.until 99999999999999999999\n",
        "version 0123456789abcdef\ncapture fedcba9876543210 gpu 100 3\n",
        "version 0123456789abcdef\ncapture fedcba9876543210 none 100 3\n",
        "version 0123456789abcdef\ncapture fedcba9876543210 cpu 100 4000\n",
        "version 0123456789abcdef\ncapture fedcba9876543210 cpu 100\n",
        "version 0123456789abcdef\ncapture x cpu 100 3\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (parse(bad[i]))
            fail_msg("understood: %s", bad[i]);
    }
}
