#include "store/local/budget.h"

#include "test.h"

TEST(budget, sums_every_line_and_stays_below_the_whole)
{
    enum { MEMORY = 64 << 20 };
    struct sf_budget b = {0};
    size_t sum = 0;
    sf_budget_init(&b, MEMORY);
    for (unsigned i = 0; i < SF_LINES; i++) {
        assert_true(b.cap[i] > 0);
        sum += b.cap[i];
        sf_budget_add(&b, (enum sf_budget_line)i, 1000 + i);
    }
    assert_int_equal(sf_budget_cap(&b), sum);
    assert_true(sum + b.log_len <= MEMORY);
    assert_int_equal(sf_budget_sum(&b), 1000 * SF_LINES + SF_LINES * (SF_LINES - 1) / 2);
    sf_budget_sub(&b, SF_LINE_QUERIES, 1000);
    assert_int_equal(sf_budget_used(&b, SF_LINE_QUERIES), SF_LINE_QUERIES);
    assert_int_equal(sf_budget_most(&b, SF_LINE_QUERIES), 1000 + SF_LINE_QUERIES);
}

/* Exactly the cap is not over it; one that holds little continues, one that holds much waits, and
 * one that would never fit is told so. */
TEST(budget, stops_the_large_query_while_the_line_is_over)
{
    struct sf_budget b = {.cap = {[SF_LINE_QUERIES] = 4000}};
    struct sf_why why;
    size_t others = 0, small = 0, large = 0;
    assert_ok(sf_budget_query(&b, &others, 900, &why));
    assert_ok(sf_budget_query(&b, &large, 3100, &why));
    assert_false(sf_budget_is_over(&b, SF_LINE_QUERIES));
    assert_ok(sf_budget_query(&b, &small, 1000, &why));
    assert_true(sf_budget_is_over(&b, SF_LINE_QUERIES));
    assert_err(sf_budget_query(&b, &large, 1001, &why), SF_OK);
    assert_err(sf_budget_query(&b, &large, 3100, &why), SF_ERR_BUSY);
    assert_err(sf_budget_query(&b, &large, 4001, &why), SF_ERR_LIMIT);
    assert_int_equal(sf_budget_used(&b, SF_LINE_QUERIES), 900 + 1000 + 4001);
    assert_ok(sf_budget_query(&b, &large, 0, &why));
    assert_int_equal(sf_budget_used(&b, SF_LINE_QUERIES), 1900);
}
