#include "test.h"

#include "base/time_unit.h"
#include "base/token_bucket.h"

static const int64_t START_NS = 5 * SF_NS_PER_S;

TEST(token_bucket, starts_full_and_is_closed_when_its_tokens_are_taken)
{
    struct sf_token_bucket b = {0};
    struct sf_token_rate r = {.rate = 10, .burst = 30};
    sf_token_bucket_fill(&b, r, START_NS);
    assert_true(sf_token_bucket_is_open(&b, r) && sf_token_bucket_is_full(&b, r));
    sf_token_bucket_take(&b, 29);
    assert_true(sf_token_bucket_is_open(&b, r));
    sf_token_bucket_take(&b, 1);
    assert_false(sf_token_bucket_is_open(&b, r));
    assert_int_equal(sf_token_bucket_wait_s(&b, r), 1);
}

TEST(token_bucket, opens_in_the_very_nanosecond_in_which_the_debt_is_paid)
{
    struct sf_token_bucket b = {0};
    struct sf_token_rate r = {.rate = 3, .burst = 1};
    sf_token_bucket_fill(&b, r, START_NS);
    sf_token_bucket_take(&b, 2); /* a debt of one: a third of a second, which no decimal ends */
    sf_token_bucket_fill(&b, r, START_NS + 333333333);
    assert_false(sf_token_bucket_is_open(&b, r));
    sf_token_bucket_fill(&b, r, START_NS + 333333334);
    assert_true(sf_token_bucket_is_open(&b, r));
}

TEST(token_bucket, gains_the_same_in_many_small_steps_as_in_one)
{
    struct sf_token_rate r = {.rate = 7, .burst = 1000000};
    struct sf_token_bucket steps = {0}, once = {0};
    sf_token_bucket_fill(&steps, r, START_NS);
    sf_token_bucket_take(&steps, 1000000);
    once = steps;
    for (int64_t i = 1; i <= 100000; i++)
        sf_token_bucket_fill(&steps, r, START_NS + i * 12347);
    sf_token_bucket_fill(&once, r, START_NS + INT64_C(100000) * 12347);
    assert_true(steps.level == once.level && once.level == INT64_C(100000) * 12347 * 7);
}

TEST(token_bucket, lets_through_what_rate_and_burst_say_and_one_request_more)
{
    struct sf_token_rate r = {.rate = 1000, .burst = 500};
    struct sf_token_bucket b = {0};
    uint64_t n = 0;
    for (int64_t ms = 0; ms < 60000; ms++) { /* 17 each millisecond: 17 times as much as fits */
        sf_token_bucket_fill(&b, r, START_NS + ms * SF_NS_PER_MS);
        if (sf_token_bucket_is_open(&b, r)) {
            sf_token_bucket_take(&b, 17);
            n += 17;
        }
    }
    assert_true(n <= 60 * 1000 + 500 + 17 && n >= 60 * 1000);
}

TEST(token_bucket, survives_clocks_that_go_back_and_numbers_at_their_ends)
{
    struct sf_token_rate r = {.rate = SF_TOKEN_MAX, .burst = SF_TOKEN_MAX};
    struct sf_token_bucket b = {0};
    sf_token_bucket_fill(&b, r, START_NS);
    sf_token_bucket_take(&b, UINT64_MAX);
    sf_token_bucket_take(&b, UINT64_MAX);
    sf_token_bucket_take(&b, UINT64_MAX);
    sf_token_bucket_take(&b, UINT64_MAX);
    assert_true(sf_token_bucket_wait_s(&b, r) >= 1);
    sf_token_bucket_fill(&b, r, 1);
    assert_false(sf_token_bucket_is_open(&b, r));
    sf_token_bucket_fill(&b, r, INT64_MAX);
    assert_true(sf_token_bucket_is_full(&b, r));
    sf_token_bucket_give(&b, r, UINT64_MAX);
    assert_true(b.level == (int64_t)SF_TOKEN_MAX * SF_NS_PER_S);
}

TEST(token_bucket, without_a_rate_is_always_open)
{
    struct sf_token_rate r = {0};
    struct sf_token_bucket b = {0};
    sf_token_bucket_take(&b, 1000);
    sf_token_bucket_fill(&b, r, START_NS);
    assert_true(sf_token_bucket_is_open(&b, r) && sf_token_bucket_is_full(&b, r));
}
