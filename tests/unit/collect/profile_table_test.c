#include "test.h"

#include "base/heap.h"
#include "collect/lib/profile_table.h"

static struct sf_sample made(uint64_t leaf, uint64_t caller, uint8_t span)
{
    struct sf_sample s = {.n_frames = 2, .weight = 1, .span_id = {span}, .frames = {leaf, caller}};
    return s;
}

TEST(profile_table, sums_equal_samples_and_keeps_others_apart)
{
    struct sf_profile_table t = {0};
    struct sf_sample a = made(100, 200, 1), b = made(100, 201, 1), c = made(100, 200, 2);
    for (int i = 0; i < 10; i++)
        sf_profile_table_add(&t, &a, 7);
    sf_profile_table_add(&t, &b, 7);
    sf_profile_table_add(&t, &c, 7);
    sf_profile_table_add(&t, &a, 8);
    assert_int_equal(sf_profile_table_n(&t), 4);
    assert_int_equal(sf_profile_table_row(&t, 0)->weight, 10);
    assert_int_equal(t.weight, 13);
    assert_int_equal(t.lost, 0);
    /* the leaf stands where it stands, a caller at its call */
    assert_int_equal(sf_profile_table_frames(&t, sf_profile_table_row(&t, 0))[0], 100);
    assert_int_equal(sf_profile_table_frames(&t, sf_profile_table_row(&t, 0))[1], 199);
    sf_profile_table_done(&t);
}

TEST(profile_table, ends_at_its_bound_and_counts_what_is_lost)
{
    struct sf_profile_table t = {0};
    for (uint64_t i = 0; i < 200000; i++) {
        struct sf_sample s = made(i, i, 1);
        sf_profile_table_add(&t, &s, 1);
    }
    assert_true(t.lost > 0);
    assert_int_equal(t.lost + sf_profile_table_n(&t), 200000);
    assert_true(t.rows.len <= SF_PROFILE_MEMORY / 2);
    sf_profile_table_done(&t);
}

TEST(profile_table, survives_every_allocation_that_fails)
{
    for (uint64_t n = 1; n < 12; n++) {
        struct sf_profile_table t = {0};
        sf_heap_fail_after(n);
        for (uint64_t i = 0; i < 100; i++) {
            struct sf_sample s = made(i, i, 1);
            sf_profile_table_add(&t, &s, 1);
        }
        sf_heap_fail_after(0);
        assert_int_equal(t.lost + sf_profile_table_n(&t), 100);
        sf_profile_table_done(&t);
    }
}
