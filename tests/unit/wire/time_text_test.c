#include "wire/time_text.h"

#include <stdlib.h>
#include <time.h>

#include "test.h"

#define NS 1000000000LL
static const int64_t now_ns = 1700000000 * NS;

static int64_t time_of(sf_str text)
{
    int64_t ns = -1;
    return sf_time_text_parse(text, now_ns, &ns) ? ns : -1;
}

TEST(time_text, takes_times_in_every_unit_people_paste)
{
    assert_int_equal(time_of(SF_STR("1700000000")), 1700000000 * NS);
    assert_int_equal(time_of(SF_STR("1700000000123")), 1700000000123 * 1000000);
    assert_int_equal(time_of(SF_STR("1700000000123456")), 1700000000123456 * 1000);
    assert_int_equal(time_of(SF_STR("1700000000123456789")), 1700000000123456789);
    assert_int_equal(time_of(SF_STR("1700000000.5")), 1700000000 * NS + NS / 2);
    assert_int_equal(time_of(SF_STR("2023-11-14T22:13:20Z")), 1700000000 * NS);
    assert_int_equal(time_of(SF_STR("2023-11-14T23:13:20.25+01:00")), 1700000000 * NS + NS / 4);
    assert_int_equal(time_of(SF_STR("now")), now_ns);
    assert_int_equal(time_of(SF_STR("now-1h30m")), now_ns - 5400 * NS);
    assert_int_equal(time_of(SF_STR("now-7d")), now_ns - 7 * 86400 * NS);
    assert_int_equal(time_of(SF_STR("now-2592000s")), now_ns - 30 * 86400 * NS);
    assert_int_equal(time_of(SF_STR("now-1.5h")), now_ns - 5400 * NS);
}

TEST(time_text, refuses_what_is_no_time)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "-5",
                                      "now-",
                                      "now-5",
                                      "now-5y",
                                      "now+1h",
                                      "2023-11-14",
                                      "2023-13-14T22:13:20Z",
                                      "2023-11-14T22:13:20",
                                      "1e30",
                                      "nan"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (time_of(sf_str_from(bad[i])) != -1)
            fail_msg("%s is taken for a time", bad[i]);
    }
}

TEST(time_text, says_a_time_in_utc_whatever_the_zone_of_the_machine)
{
    struct sf_buf out = {0};
    setenv("TZ", "America/New_York", 1);
    tzset();
    sf_time_text_add(&out, 1700000000123456789u);
    assert_int_equal(out.len, 23);
    assert_memory_equal(out.p, "2023-11-14 22:13:20.123", 23);
    sf_buf_reset(&out);
    sf_time_text_add(&out, UINT64_MAX);
    assert_memory_equal(out.p, "2554-", 5);
    sf_buf_done(&out);
}
