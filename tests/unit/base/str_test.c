#include "test.h"

#include "base/err.h"
#include "base/str.h"

TEST(str, parses_whole_numbers_or_nothing)
{
    uint64_t u;
    int64_t i;
    double f;
    assert_true(sf_str_to_u64(SF_STR("18446744073709551615"), &u));
    assert_true(u == UINT64_MAX);
    assert_false(sf_str_to_u64(SF_STR("18446744073709551616"), &u));
    assert_false(sf_str_to_u64(SF_STR("1x"), &u));
    assert_false(sf_str_to_u64(SF_STR(""), &u));
    assert_true(sf_str_to_i64(SF_STR("-9223372036854775808"), &i));
    assert_true(i == INT64_MIN);
    assert_false(sf_str_to_i64(SF_STR("9223372036854775808"), &i));
    assert_true(sf_str_to_f64(SF_STR("-1.5e3"), &f));
    assert_true(f == -1500.0);
    assert_false(sf_str_to_f64(SF_STR("0x10"), &f));
    assert_false(sf_str_to_f64(SF_STR("1e999"), &f));
}

TEST(str, splits_into_all_pieces)
{
    sf_str rest = SF_STR("a,,b"), head;
    assert_true(sf_str_split_next(&rest, ',', &head));
    assert_str(head, "a");
    assert_true(sf_str_split_next(&rest, ',', &head));
    assert_str(head, "");
    assert_true(sf_str_split_next(&rest, ',', &head));
    assert_str(head, "b");
    assert_false(sf_str_split_next(&rest, ',', &head));
}

TEST(str, measures_typing_mistakes)
{
    assert_int_equal(sf_str_distance(SF_STR("retention"), SF_STR("retenton")), 1);
    assert_int_equal(sf_str_distance(SF_STR("abc"), SF_STR("")), 3);
}

TEST(str, trims_and_finds)
{
    size_t at;
    assert_str(sf_str_trim(SF_STR(" \ta b\r\n")), "a b");
    assert_true(sf_str_find(SF_STR("hello"), SF_STR("ll"), &at));
    assert_int_equal(at, 2);
    assert_false(sf_str_find(SF_STR("he"), SF_STR("hello"), &at));
    assert_true(sf_str_ieq(SF_STR("Content-Type"), SF_STR("content-type")));
}
