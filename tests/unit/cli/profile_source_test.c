#include "cli/profile_source.h"

#include <stdlib.h>
#include <unistd.h>

#include "test.h"

TEST(profile_source, knows_how_long_a_url_will_take)
{
    assert_int_equal(sf_profile_source_url_seconds(SF_STR("http://a/profile?seconds=30")), 30);
    assert_int_equal(
        sf_profile_source_url_seconds(SF_STR("http://a/profile?debug=0&seconds=5&x=1")), 5);
    assert_int_equal(sf_profile_source_url_seconds(SF_STR("http://a/heap")), 0);
    assert_int_equal(sf_profile_source_url_seconds(SF_STR("http://a/profile?seconds=")), 0);
    assert_int_equal(sf_profile_source_url_seconds(SF_STR("http://a/?milliseconds=30")), 0);
    assert_int_equal(
        sf_profile_source_url_seconds(SF_STR("http://a/?seconds=99999999999999999999")), 3600);
}

TEST(profile_source, reads_percentages)
{
    double share = 7;
    assert_true(sf_profile_source_share("2.5", &share) && share == 0.025);
    assert_true(sf_profile_source_share("50%", &share) && share == 0.5);
    assert_true(sf_profile_source_share("0", &share) && share == 0);
    assert_false(sf_profile_source_share("101", &share));
    assert_false(sf_profile_source_share("-1", &share));
    assert_false(sf_profile_source_share("nan", &share));
    assert_false(sf_profile_source_share("", &share));
    assert_false(sf_profile_source_share("x", &share));
}

TEST(profile_source, reads_a_folded_file_as_counts)
{
    char path[] = "/tmp/sf_profile_source.XXXXXX";
    struct sf_profile_flags flags = {.hide = "b"};
    struct sf_profile_source s;
    struct sf_profile_view v;
    struct sf_why why = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a;b;c 3\na;d 4\n", 14), 14);
    close(fd);
    assert_ok(sf_profile_source_open("flame", path, &flags, &s, &why));
    assert_int_equal(s.view.tree.total, 7);
    assert_string_equal(s.format, "folded");
    assert_ok(sf_profile_source_grouped(&s, &flags, &v, &why));
    assert_int_equal(v.tree.n_frames, 3);
    sf_profile_source_done(&s);
    flags.hide = "(";
    assert_err(sf_profile_source_open("flame", path, &flags, &s, &why), SF_ERR_INPUT);
    sf_profile_source_done(&s);
    unlink(path);
    assert_err(sf_profile_source_open("flame", path, &flags, &s, &why), SF_ERR_NOT_FOUND);
    sf_profile_source_done(&s);
}

TEST(profile_source, reads_relative_and_absolute_ranges)
{
    const int64_t now_ns = INT64_C(1700000000) * 1000000000, hour_ns = INT64_C(3600000000000);
    int64_t from_ns = 0, until_ns = 0;
    assert_true(sf_profile_source_time_range(NULL, now_ns, &from_ns, &until_ns));
    assert_true(from_ns == now_ns - hour_ns && until_ns == now_ns);
    assert_true(sf_profile_source_time_range("2h", now_ns, &from_ns, &until_ns));
    assert_true(from_ns == now_ns - 2 * hour_ns && until_ns == now_ns);
    assert_true(sf_profile_source_time_range("now-2h..now-1h", now_ns, &from_ns, &until_ns));
    assert_true(from_ns == now_ns - 2 * hour_ns && until_ns == now_ns - hour_ns);
    assert_true(sf_profile_source_time_range("2023-11-14T21:13:20Z..1700000000", now_ns, &from_ns,
                                             &until_ns));
    assert_true(from_ns == now_ns - hour_ns && until_ns == now_ns);
    assert_false(sf_profile_source_time_range("0s", now_ns, &from_ns, &until_ns));
    assert_false(sf_profile_source_time_range("soon", now_ns, &from_ns, &until_ns));
    assert_false(sf_profile_source_time_range("now..now-1h", now_ns, &from_ns, &until_ns));
    assert_false(sf_profile_source_time_range("now-1h..", now_ns, &from_ns, &until_ns));
}
