#include "test.h"

#include "collect/lib/symbol_budget.h"

#define MS ((int64_t)1000000)
#define S  ((uint64_t)1000000000)

TEST(symbol_budget, begins_with_a_little_and_earns_what_profiling_leaves_of_the_budget)
{
    struct sf_symbol_budget b = {0};
    sf_symbol_budget_earn(&b, 100, 0, 0);
    assert_int_equal(b.credit_ns, SF_SYMBOL_CREDIT_FIRST_NS);
    sf_symbol_budget_earn(&b, 100, 2 * S, 12 * (uint64_t)MS); /* 1 % of 2 s, 12 ms are gone */
    assert_int_equal(b.credit_ns, SF_SYMBOL_CREDIT_FIRST_NS + 8 * MS);
    sf_symbol_budget_spend(&b, 100 * (uint64_t)MS);
    assert_int_equal(b.credit_ns, SF_SYMBOL_CREDIT_FIRST_NS - 92 * MS);
    sf_symbol_budget_earn(&b, 100, 1000 * S, 12 * (uint64_t)MS);
    assert_int_equal(b.credit_ns, SF_SYMBOL_CREDIT_MOST_NS); /* no more is saved */
}

TEST(symbol_budget, earns_a_tenth_when_samples_take_all_of_it)
{
    struct sf_symbol_budget b = {0};
    sf_symbol_budget_earn(&b, 100, 0, 0);
    sf_symbol_budget_spend(&b, (uint64_t)SF_SYMBOL_CREDIT_FIRST_NS);
    sf_symbol_budget_earn(&b, 100, 10 * S, S);
    assert_int_equal(b.credit_ns, 10 * MS);
    sf_symbol_budget_earn(&b, 0, 20 * S, S); /* without a budget nothing */
    assert_int_equal(b.credit_ns, 10 * MS);
}

/* A process that computes for a thousand seconds while new code shows up all the time. */
TEST(symbol_budget, never_spends_more_than_was_earned)
{
    struct sf_symbol_budget b = {0};
    struct sf_symbol_price p = {0};
    uint64_t spent_ns = 0;
    unsigned n = 0;
    for (uint64_t s = 0; s <= 1000; s += 10) {
        sf_symbol_budget_earn(&b, 100, s * S, s * S * 6 / 1000);
        if (sf_symbol_budget_has_for_lines(&b, &p, true)) {
            int64_t credit_ns = b.credit_ns;
            uint64_t ns = 90 * (uint64_t)MS;
            bool is_cut = credit_ns < (int64_t)ns;
            ns = is_cut ? (uint64_t)credit_ns : ns;
            sf_symbol_budget_spend(&b, ns);
            sf_symbol_budget_price_note(&p, credit_ns, ns, is_cut, s * S);
            spent_ns += ns;
            n++;
        }
        assert_true(spent_ns <= (uint64_t)SF_SYMBOL_CREDIT_FIRST_NS + s * S * 4 / 1000);
    }
    assert_in_range(n, 10, 45); /* and it is read again and again, every 36 s at most */
}

TEST(symbol_budget, tries_with_twice_as_much_what_was_cut_and_gives_up_at_the_most)
{
    struct sf_symbol_budget b = {0};
    struct sf_symbol_price p = {0};
    int64_t tried_ns = 0;
    for (uint64_t s = 0; s < 1000; s++) {
        sf_symbol_budget_earn(&b, 100, s * S, 0);
        if (!sf_symbol_budget_has_for_lines(&b, &p, true))
            continue;
        assert_false(p.is_given_up);
        assert_true(b.credit_ns >= 2 * tried_ns || b.credit_ns == SF_SYMBOL_CREDIT_MOST_NS);
        tried_ns = b.credit_ns;
        sf_symbol_budget_price_note(&p, b.credit_ns, (uint64_t)b.credit_ns, true, s * S);
        sf_symbol_budget_spend(&b, (uint64_t)b.credit_ns);
    }
    assert_int_equal(tried_ns, SF_SYMBOL_CREDIT_MOST_NS);
    assert_true(p.is_given_up);
}

TEST(symbol_budget, waits_longer_when_few_samples_gain_by_it)
{
    struct sf_symbol_budget b = {0};
    struct sf_symbol_price p = {0};
    sf_symbol_budget_earn(&b, 100, S, 0);
    sf_symbol_budget_price_note(&p, b.credit_ns, 10 * (uint64_t)MS, false, S);
    sf_symbol_budget_earn(&b, 100, 4 * S, 0);
    assert_false(sf_symbol_budget_has_for_lines(&b, &p, true)); /* 4 s are a quarter of a percent */
    sf_symbol_budget_earn(&b, 100, 5 * S, 0);
    assert_true(sf_symbol_budget_has_for_lines(&b, &p, true));
    assert_false(sf_symbol_budget_has_for_lines(&b, &p, false));
    sf_symbol_budget_earn(&b, 100, 41 * S, 0);
    assert_true(sf_symbol_budget_has_for_lines(&b, &p, false));
    assert_true(sf_symbol_budget_has_for_names(&b, &p));
    p.names_ns = 250 * MS;
    sf_symbol_budget_spend(&b, (uint64_t)(10 * MS));
    assert_false(sf_symbol_budget_has_for_names(&b, &p));
}
