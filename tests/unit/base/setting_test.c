#include "test.h"

#include "base/setting.h"
#include "base/time_unit.h"

static int64_t duration_in(const char *text, unsigned form)
{
    int64_t ns = -1;
    return sf_setting_duration_parse(sf_str_from(text), form, &ns, NULL) ? -1 : ns;
}

static int64_t duration(const char *text)
{
    return duration_in(text, SF_DURATION_PLAIN);
}

static uint64_t size(const char *text)
{
    uint64_t len = 0;
    return sf_setting_size_parse(sf_str_from(text), &len, NULL) ? UINT64_MAX : len;
}

TEST(setting, reads_durations_alone_and_together)
{
    assert_int_equal(duration("0"), 0);
    assert_int_equal(duration("17ns"), 17);
    assert_int_equal(duration("3us"), 3000);
    assert_int_equal(duration("3\xc2\xb5s"), 3000);
    assert_int_equal(duration("500ms"), 500000000);
    assert_int_equal(duration("1h30m"), 5400000000000);
    assert_int_equal(duration("1.5s"), 1500000000);
    assert_int_equal(duration("0.25d"), 21600000000000);
    assert_int_equal(duration("7d"), 604800000000000);
}

TEST(setting, refuses_durations_without_unit_or_sense)
{
    static const char *const wrong[] = {"",    "5",   "s",   "1h30",   "-1s",           "1.s",
                                        ".5s", "1 s", "1hh", "1.2.3s", "100000000000d", "1S"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (duration(wrong[i]) != -1)
            fail_msg("\"%s\" passed for a duration", wrong[i]);
    }
    assert_int_equal(duration("18446744073709551616ns"), -1);
}

TEST(setting, reads_sizes_by_thousands_and_by_1024)
{
    assert_true(size("64") == 64);
    assert_true(size("512KB") == 512000);
    assert_true(size("512 kb") == 512000);
    assert_true(size("1KiB") == 1024);
    assert_true(size("1.5GiB") == 3u << 29);
    assert_true(size("50GB") == 50000000000u);
    assert_true(size("2T") == 2000000000000u);
    assert_true(size("1.5") == UINT64_MAX);
    assert_true(size("GB") == UINT64_MAX);
    assert_true(size("1XB") == UINT64_MAX);
    assert_true(size("20000PB") == UINT64_MAX);
    assert_true(size("-1") == UINT64_MAX);
}

TEST(setting, reads_what_a_place_accepts_beyond_the_plain_form)
{
    static const struct {
        const char *text;
        unsigned form;
        int64_t ns;
    } cases[] = {
        {"2w", SF_DURATION_YEARS, 14 * SF_NS_PER_DAY},
        {"1y1d", SF_DURATION_YEARS, 366 * SF_NS_PER_DAY},
        {".25h", SF_DURATION_POINTS, 15 * SF_NS_PER_MIN},
        {"1.s", SF_DURATION_POINTS, SF_NS_PER_S},
        {"10 s", SF_DURATION_BLANKS, 10 * SF_NS_PER_S},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(duration_in(cases[i].text, cases[i].form), cases[i].ns);
        assert_int_equal(duration(cases[i].text), -1);
        assert_int_equal(duration_in(cases[i].text, 7 & ~cases[i].form), -1);
    }
    assert_int_equal(duration_in(".s", SF_DURATION_POINTS), -1);
    assert_int_equal(duration_in("1.2.3s", SF_DURATION_POINTS), -1);
}

TEST(setting, cuts_below_a_nanosecond_and_keeps_what_is_above)
{
    assert_int_equal(duration("1.9ns"), 1);
    assert_int_equal(duration("0.000000000000012d"), 1); /* 1.04 ns */
    assert_int_equal(duration("1.0000000000000000000000000009s"), SF_NS_PER_S);
    assert_int_equal(duration("9223372036854775807ns"), INT64_MAX);
    assert_int_equal(duration("9223372036854775808ns"), -1);
    assert_int_equal(duration("106751d23h47m16.854775807s"), INT64_MAX);
    assert_int_equal(duration("106751d23h47m16.854775808s"), -1);
}

TEST(setting, says_what_is_wrong)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {{"", "nothing is given"},
                 {"h", "it does not begin with a number"},
                 {"5", "a number has no unit (ns, us, ms, s, m, h, d)"},
                 {"5x", "\"x\" is not a unit (ns, us, ms, s, m, h, d)"},
                 {"1.2.3s", "a number has digits around one point"},
                 {"300000d", "it is longer than 292 years"}};
    struct sf_why why;
    int64_t ns = 17;
    uint64_t len = 17;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(sf_setting_duration_parse(sf_str_from(wrong[i].text), 0, &ns, &why),
                         SF_ERR_INPUT);
        assert_string_equal(why.text, wrong[i].says);
    }
    assert_int_equal(sf_setting_size_parse(SF_STR("1.5"), &len, &why), SF_ERR_INPUT);
    assert_string_equal(why.text, "a part of a byte is not a size");
    assert_int_equal(sf_setting_size_parse(SF_STR("7 apples"), &len, &why), SF_ERR_INPUT);
    assert_non_null(strstr(why.text, "\"apples\" is not a unit"));
    assert_true(ns == 17 && len == 17);
}
