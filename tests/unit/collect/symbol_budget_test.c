#include "test.h"

#include "collect/lib/symbol_budget.h"

#define MS ((int64_t)1000000)
#define S  ((uint64_t)1000000000)

TEST(symbol_budget, spends_what_is_left_and_saves_a_quarter_of_a_second)
{
    struct sf_symbol_budget b = {0};
    sf_symbol_budget_set(&b, 35 * MS, S);
    assert_int_equal(b.credit_ns, 35 * MS);
    sf_symbol_budget_spend(&b, 100 * (uint64_t)MS);
    assert_int_equal(b.credit_ns, -65 * MS);
    sf_symbol_budget_set(&b, S, 2 * S);
    assert_int_equal(b.credit_ns, SF_SYMBOL_CREDIT_MOST_NS);
    assert_int_equal(b.process_ns, 2 * S);
}

/* A process that computes for a thousand seconds while new code shows up all the time. */
TEST(symbol_budget, never_spends_more_than_there_is)
{
    struct sf_symbol_budget b = {0};
    struct sf_symbol_price p = {0};
    int64_t left_ns = 35 * MS;
    unsigned n = 0;
    for (uint64_t s = 0; s <= 1000; s += 10) {
        left_ns += 40 * MS; /* 0.4 % of 10 s */
        sf_symbol_budget_set(&b, left_ns, s * S);
        if (sf_symbol_budget_has_for_lines(&b, &p, true)) {
            bool is_cut = b.credit_ns < 90 * MS;
            int64_t credit_ns = b.credit_ns, ns = is_cut ? credit_ns : 90 * MS;
            sf_symbol_budget_spend(&b, (uint64_t)ns);
            sf_symbol_budget_price_note(&p, credit_ns, (uint64_t)ns, is_cut, s * S);
            left_ns -= ns;
            n++;
        }
        assert_true(left_ns >= 0);
    }
    assert_in_range(n, 10, 45); /* and it is read again and again, every 36 s at most */
}

TEST(symbol_budget, tries_with_twice_as_much_what_was_cut_and_gives_up_at_the_most)
{
    struct sf_symbol_budget b = {0};
    struct sf_symbol_price p = {0};
    int64_t tried_ns = 0, left_ns = 40 * MS;
    for (uint64_t s = 0; s < 1000; s++) {
        left_ns += 10 * MS;
        sf_symbol_budget_set(&b, left_ns, s * S);
        if (!sf_symbol_budget_has_for_lines(&b, &p, true))
            continue;
        assert_false(p.is_given_up);
        assert_true(b.credit_ns >= 2 * tried_ns || b.credit_ns == SF_SYMBOL_CREDIT_MOST_NS);
        tried_ns = b.credit_ns;
        sf_symbol_budget_price_note(&p, b.credit_ns, (uint64_t)b.credit_ns, true, s * S);
        left_ns -= b.credit_ns;
    }
    assert_int_equal(tried_ns, SF_SYMBOL_CREDIT_MOST_NS);
    assert_true(p.is_given_up);
}

TEST(symbol_budget, waits_longer_when_few_samples_gain_by_it)
{
    struct sf_symbol_budget b = {0};
    struct sf_symbol_price p = {0};
    sf_symbol_budget_set(&b, 50 * MS, S);
    sf_symbol_budget_price_note(&p, b.credit_ns, 10 * (uint64_t)MS, false, S);
    sf_symbol_budget_set(&b, 50 * MS, 4 * S);
    assert_false(sf_symbol_budget_has_for_lines(&b, &p, true)); /* 4 s are a quarter of a percent */
    sf_symbol_budget_set(&b, 50 * MS, 5 * S);
    assert_true(sf_symbol_budget_has_for_lines(&b, &p, true));
    assert_false(sf_symbol_budget_has_for_lines(&b, &p, false));
    sf_symbol_budget_set(&b, 50 * MS, 41 * S);
    assert_true(sf_symbol_budget_has_for_lines(&b, &p, false));
    assert_true(sf_symbol_budget_has_for_names(&b, &p));
    p.names_ns = 250 * MS;
    sf_symbol_budget_spend(&b, (uint64_t)(10 * MS));
    assert_false(sf_symbol_budget_has_for_names(&b, &p));
}
