#include "test.h"

#include "base/heap.h"
#include "collect/lib/profile_table.h"

static struct sf_raw_sample made(uint64_t leaf, uint64_t caller, uint8_t span)
{
    struct sf_raw_sample s = {
        .n_frames = 2, .thread = 7, .values = {1, 10}, .span_id = {span}, .frames = {leaf, caller}};
    return s;
}

TEST(profile_table, sums_equal_samples_and_keeps_others_apart)
{
    struct sf_profile_table t = {0};
    struct sf_raw_sample a = made(100, 200, 1), b = made(100, 201, 1), c = made(100, 200, 2), d = a,
                         e = a;
    d.thread = 8;
    e.wait = SF_WAIT_LOCK;
    for (int i = 0; i < 10; i++)
        sf_profile_table_add(&t, &a);
    sf_profile_table_add(&t, &b);
    sf_profile_table_add(&t, &c);
    sf_profile_table_add(&t, &d);
    sf_profile_table_add(&t, &e);
    assert_int_equal(sf_profile_table_n(&t), 5);
    assert_int_equal(sf_profile_table_row(&t, 0)->values[0], 10);
    assert_int_equal(sf_profile_table_row(&t, 0)->values[1], 100);
    assert_int_equal(t.values[0], 14);
    assert_int_equal(t.lost, 0);
    /* the leaf stands where it stands, a caller at its call */
    assert_int_equal(sf_profile_table_frames(&t, sf_profile_table_row(&t, 0))[0], 100);
    assert_int_equal(sf_profile_table_frames(&t, sf_profile_table_row(&t, 0))[1], 199);
    sf_profile_table_done(&t);
}

TEST(profile_table, keeps_the_moments_of_a_row)
{
    struct sf_profile_table t = {.has_moments = true};
    struct sf_raw_sample a = made(100, 200, 1), b = made(101, 200, 1);
    uint64_t times[2] = {0};
    uint32_t n = 0;
    for (uint64_t i = 0; i < 10; i++) {
        a.time_ns = b.time_ns = 1000 + i;
        sf_profile_table_add(&t, i % 2 ? &a : &b);
    }
    assert_int_equal(sf_profile_table_n_moments(&t), 10);
    for (uint32_t at = sf_profile_table_row(&t, 1)->moments; at; n++) {
        const struct sf_moment *m = sf_profile_table_moment(&t, at - 1);
        assert_int_equal(m->row, 1);
        assert_int_equal(m->values[1], 10);
        times[n > 0] = m->time_ns;
        at = m->next;
    }
    assert_int_equal(n, 5);
    assert_int_equal(times[0], 1009); /* the newest first */
    assert_int_equal(times[1], 1001);
    sf_profile_table_done(&t);
}

TEST(profile_table, ends_at_its_bound_and_counts_what_is_lost)
{
    struct sf_profile_table t = {0};
    for (uint64_t i = 0; i < 200000; i++) {
        struct sf_raw_sample s = made(i, i, 1);
        sf_profile_table_add(&t, &s);
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
            struct sf_raw_sample s = made(i, i, 1);
            sf_profile_table_add(&t, &s);
        }
        sf_heap_fail_after(0);
        assert_int_equal(t.lost + sf_profile_table_n(&t), 100);
        sf_profile_table_done(&t);
    }
}

TEST(profile_table, keeps_samples_without_a_time_apart)
{
    struct sf_profile_table t = {.has_moments = true};
    struct sf_raw_sample timed = made(100, 200, 0), untimed = timed;
    timed.time_ns = 1000;
    for (int i = 0; i < 3; i++) {
        sf_profile_table_add(&t, &timed);
        sf_profile_table_add(&t, &untimed);
    }
    assert_int_equal(sf_profile_table_n(&t), 2);
    assert_int_equal(sf_profile_table_n_moments(&t), 3);
    assert_int_equal(sf_profile_table_row(&t, 0)->values[1], 30);
    assert_int_equal(sf_profile_table_row(&t, 1)->values[1], 30);
    assert_int_equal(sf_profile_table_row(&t, 1)->moments, 0);
    sf_profile_table_done(&t);
    t = (struct sf_profile_table){0}; /* for a file, which has no times */
    sf_profile_table_add(&t, &timed);
    sf_profile_table_add(&t, &untimed);
    assert_int_equal(sf_profile_table_n(&t), 1);
    sf_profile_table_done(&t);
}
