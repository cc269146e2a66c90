#include "test.h"

#include "collect/lib/snapshot_pace.h"

#define S 1000000000ull

TEST(snapshot_pace, takes_a_quarter_of_the_budget)
{
    struct sf_snapshot_pace p = {0};
    assert_true(sf_snapshot_pace_is_due(&p, 100, 1, 1)); /* the first one, whatever it will take */
    p = (struct sf_snapshot_pace){(int64_t)S, S, S / 100};
    assert_false(sf_snapshot_pace_is_due(&p, 100, 11 * (int64_t)S, 5 * S - 1));
    assert_true(sf_snapshot_pace_is_due(&p, 100, 11 * (int64_t)S, 5 * S));
    assert_true(sf_snapshot_pace_is_due(&p, 10000, 2 * (int64_t)S, S + S / 20)); /* no limit */
}

TEST(snapshot_pace, a_program_that_sleeps_counts_as_one_that_uses_a_tenth_of_a_cpu)
{
    struct sf_snapshot_pace p = {(int64_t)S, S, S / 1000};
    assert_false(sf_snapshot_pace_is_due(&p, 100, 5 * (int64_t)S - 1, S));
    assert_true(sf_snapshot_pace_is_due(&p, 100, 5 * (int64_t)S, S));
}
