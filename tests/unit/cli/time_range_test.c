#include "cli/time_range.h"

#include "test.h"

static const int64_t NOW_NS = 1763200800000000000, S_NS = 1000000000;

TEST(time_range, is_the_last_hour_when_nobody_says_more)
{
    struct sf_time_range r = {0};
    int64_t from, until;
    assert_null(sf_time_range_read(&r, NOW_NS, &from, &until));
    assert_true(from == NOW_NS - 3600 * S_NS && until == NOW_NS);
    r.since_ns = 60 * S_NS;
    assert_null(sf_time_range_read(&r, NOW_NS, &from, &until));
    assert_true(from == NOW_NS - 60 * S_NS && until == NOW_NS);
}

TEST(time_range, takes_times_as_people_write_them)
{
    struct sf_time_range r = {.from = "now-15m"};
    int64_t from, until;
    assert_null(sf_time_range_read(&r, NOW_NS, &from, &until));
    assert_true(from == NOW_NS - 900 * S_NS && until == NOW_NS);
    r = (struct sf_time_range){.from = "1763190000", .until = "2025-11-15T08:00:00Z"};
    assert_null(sf_time_range_read(&r, NOW_NS, &from, &until));
    assert_true(from == 1763190000 * S_NS && until == 1763193600 * S_NS);
}

TEST(time_range, begins_no_earlier_than_time_itself)
{
    struct sf_time_range r = {.since_ns = INT64_MAX};
    int64_t from, until;
    assert_null(sf_time_range_read(&r, NOW_NS, &from, &until));
    assert_true(from == 0 && until == NOW_NS);
}

TEST(time_range, says_what_is_wrong)
{
    static const struct {
        struct sf_time_range range;
        const char *says;
    } wrong[] = {
        {{.from = "now-1h", .since_ns = 5}, "not both"},
        {{.until = "now", .since_ns = 5}, "not both"},
        {{.until = "now"}, "needs --from"},
        {{.from = "yesterday"}, "--from is not a time"},
        {{.from = "now-1h", .until = "soon"}, "--until is not a time"},
        {{.from = "now", .until = "now-1h"}, "before"},
        {{.from = "now", .until = "now"}, "before"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        int64_t from = 1, until = 2;
        const char *said = sf_time_range_read(&wrong[i].range, NOW_NS, &from, &until);
        assert_non_null(said);
        assert_non_null(strstr(said, wrong[i].says));
        assert_true(from == 1 && until == 2);
    }
}
