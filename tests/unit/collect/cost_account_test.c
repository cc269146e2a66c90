#include "test.h"

#include "collect/lib/cost_account.h"

#define MS ((int64_t)1000000)
#define S  ((int64_t)1000000000)

static void note(struct sf_cost_account *a, int64_t time_ns, int64_t process_ns, int64_t spent_ns)
{
    sf_cost_account_note(a, time_ns, (uint64_t)process_ns, spent_ns, 100);
}

TEST(cost_account, begins_with_what_the_start_may_cost)
{
    struct sf_cost_account a = {0};
    note(&a, 7 * S, 3 * S, 2 * MS); /* the CPU time before profiling began pays for nothing */
    assert_int_equal(a.balance_ns, SF_COST_START_NS - 2 * MS);
    note(&a, 8 * S, 4 * S, 5 * MS); /* 1 % of a second, 3 ms are gone */
    assert_int_equal(a.balance_ns, SF_COST_START_NS + 5 * MS);
    assert_int_equal(sf_cost_account_credit(&a), SF_COST_START_NS - SF_COST_RESERVE_NS + 5 * MS);
    note(&a, 9 * S, 5 * S, 4 * MS); /* a thread was counted twice */
    assert_int_equal(a.balance_ns, SF_COST_START_NS + 16 * MS);
}

TEST(cost_account, a_debt_is_repaid_by_later_cpu_time)
{
    struct sf_cost_account a = {0};
    note(&a, S, S, 0);
    note(&a, 2 * S, 2 * S, 70 * MS);
    assert_int_equal(a.balance_ns, -10 * MS);
    assert_int_equal(sf_cost_account_owed(&a), SF_COST_RESERVE_NS + 10 * MS);
    assert_int_equal(sf_cost_account_level(&a), SF_COST_PAUSE);
    note(&a, 4 * S, 4 * S, 70 * MS);
    assert_int_equal(sf_cost_account_level(&a), SF_COST_LOW);
    assert_int_equal(sf_cost_account_owed(&a), 5 * MS);
    note(&a, 4 * S, 4 * S, 71 * MS);
    assert_int_equal(sf_cost_account_level(&a), SF_COST_LOWEST);
    assert_int_equal(sf_cost_account_owed(&a), 6 * MS);
    note(&a, 4 * S + 500 * MS, 4 * S + 500 * MS, 71 * MS);
    assert_int_equal(sf_cost_account_level(&a), SF_COST_LOW);
    note(&a, 5 * S, 5 * S, 71 * MS);
    assert_int_equal(sf_cost_account_level(&a), SF_COST_FINE);
    assert_int_equal(sf_cost_account_owed(&a), 0);
}

TEST(cost_account, an_idle_process_is_granted_a_tenth_of_a_cpu_in_ten_seconds)
{
    struct sf_cost_account a = {0};
    note(&a, S, 0, 0);
    for (int64_t s = 2; s <= 11; s++) /* it computes for two seconds of ten: no tenth on top */
        note(&a, s * S, (s < 3 ? s - 1 : 2) * S, 0);
    assert_int_equal(a.balance_ns, SF_COST_START_NS + 20 * MS);
    for (int64_t s = 12; s <= 21; s++)
        note(&a, s * S, 2 * S, 0);
    assert_int_equal(a.balance_ns, SF_COST_START_NS + 30 * MS);
    for (int64_t s = 22; s <= 31; s++) /* what is not used is not granted again */
        note(&a, s * S, 2 * S + (s < 31 ? 0 : S), 0);
    assert_int_equal(a.balance_ns, SF_COST_START_NS + 40 * MS);
}

TEST(cost_account, an_idle_hour_does_not_pay_for_more_than_a_while)
{
    struct sf_cost_account a = {0};
    note(&a, S, 0, 0);
    for (int64_t s = 2; s < 3600; s++)
        note(&a, s * S, 0, 0);
    assert_int_equal(a.balance_ns, SF_COST_SAVED_NS);
    note(&a, 3600 * S, 0, 20 * MS);
    assert_int_equal(a.balance_ns, SF_COST_SAVED_NS - 19 * MS);
}

/* A turn notes the time at which it began after its window has noted a later one. */
TEST(cost_account, a_time_before_the_last_one_grants_nothing)
{
    struct sf_cost_account a = {0};
    note(&a, S, S, 0);
    note(&a, 12 * S, 2 * S, 0); /* a stretch ends */
    assert_int_equal(a.balance_ns, SF_COST_START_NS + 11 * MS);
    note(&a, 12 * S - MS, 2 * S - MS, 0);
    assert_int_equal(a.balance_ns, SF_COST_START_NS + 11 * MS);
}

TEST(cost_account, what_is_skipped_neither_pays_nor_costs)
{
    struct sf_cost_account a = {0};
    note(&a, S, S, MS);
    sf_cost_account_skip(&a, 100 * S, (uint64_t)(90 * S), 500 * MS);
    assert_int_equal(a.balance_ns, SF_COST_START_NS - MS);
    note(&a, 101 * S, 91 * S, 501 * MS);
    assert_int_equal(a.balance_ns, SF_COST_START_NS + 8 * MS);
    a = (struct sf_cost_account){0}; /* before the first profile with a budget */
    sf_cost_account_skip(&a, 100 * S, (uint64_t)(90 * S), 500 * MS);
    note(&a, 101 * S, 91 * S, 502 * MS);
    assert_int_equal(a.balance_ns, SF_COST_START_NS - 2 * MS);
}

TEST(cost_account, keeps_back_what_the_next_profile_takes)
{
    struct sf_cost_account a = {0};
    note(&a, S, S, 0);
    sf_cost_account_note_lump(&a, 12 * MS);
    assert_int_equal(sf_cost_account_credit(&a), SF_COST_START_NS - SF_COST_RESERVE_NS - 24 * MS);
    note(&a, S, S, SF_COST_START_NS - 35 * MS);
    assert_int_equal(sf_cost_account_level(&a), SF_COST_LOW);
    assert_int_equal(sf_cost_account_owed(&a), 4 * MS);
    note(&a, S, S, SF_COST_START_NS - 33 * MS);
    assert_int_equal(sf_cost_account_level(&a), SF_COST_LOWEST);
    note(&a, S, S, SF_COST_START_NS - 28 * MS);
    assert_int_equal(sf_cost_account_level(&a), SF_COST_PAUSE);
    for (int i = 0; i < 710; i++) /* 71 s */
        sf_cost_account_note_lump(&a, 0);
    assert_in_range(a.lump_ns, 5 * MS, 7 * MS);
    sf_cost_account_note_lump(&a, S);
    assert_int_equal(a.lump_ns, SF_COST_LUMP_NS);
}
