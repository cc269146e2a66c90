/* trial_test.c - tests to test what runs tests. */
#include "test.h"

TEST(trial, passes)
{
    assert_int_equal(1, 1);
}

TEST(trial, skips)
{
    printf("# no weather today\n");
    skip();
}

TEST(trial, passes_again)
{
    assert_int_equal(1, 1);
}
