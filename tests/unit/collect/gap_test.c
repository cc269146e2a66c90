#include "test.h"

#include <stdbool.h>

#include "collect/lib/gap.h"

static bool is_near(double got, double want, double by)
{
    return got - want < by && want - got < by;
}

/* Seeds are fixed, so that a verdict is the same on every run. With another seed right code would
 * fail once in 10,000: the bounds are 4.5, 4 and 4.6 standard errors away. */
TEST(gap, has_the_mean_and_the_spread_of_an_exponential)
{
    enum { N = 200000, MEAN = 524288 };
    struct sf_gap_chance c = {12345};
    double sum = 0, squares = 0, below = 0;
    for (int i = 0; i < N; i++) {
        double gap = (double)sf_gap_draw(&c, MEAN);
        sum += gap;
        squares += gap * gap;
        below += gap < MEAN;
    }
    assert_true(is_near(sum / N / MEAN, 1, 0.01));
    assert_true(is_near(squares / N / MEAN / MEAN, 2, 0.04)); /* spread and mean are the same */
    assert_true(is_near(below / N, 0.632, 0.005));            /* 1 - 1 / e */
}

TEST(gap, weighs_a_sample_by_its_chance)
{
    static const struct {
        uint64_t size;
        double stands_for; /* 1 / (1 - exp(-size / 512 KiB)) */
    } known[] = {
        {1ull, 524288.5},         {16ull, 32768.5000025},     {5000ull, 105.358394727},
        {6000ull, 87.8822870056}, {524288ull, 1.58197670687}, {1048576ull, 1.15651764275},
        {1073741824ull, 1},       {1125899906842624ull, 1},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        double got = sf_gap_stands_for(known[i].size, 524288);
        assert_true(is_near(got / known[i].stands_for, 1, 1e-9));
    }
}

/* The same: 6.4 standard errors, one seed in 10^9. */
TEST(gap, rounds_so_that_the_mean_stays)
{
    struct sf_gap_chance c = {7};
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        uint64_t n = sf_gap_whole(&c, 1.58);
        assert_true(n == 1 || n == 2);
        sum += (double)n;
    }
    assert_true(is_near(sum / 100000, 1.58, 0.01));
    assert_int_equal(sf_gap_whole(&c, 4), 4);
}

/* By chance once in 2^64 runs. */
TEST(gap, seeds_itself_differently_each_time)
{
    struct sf_gap_chance a = {0}, b = {0};
    assert_true(sf_gap_random(&a) != sf_gap_random(&b));
    assert_true(a.state && b.state);
}
