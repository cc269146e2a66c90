/* other_trial_test.c - a second file of tests, for a program of several. */
#include <stdlib.h>

#include "test.h"

TEST(other, fails_on_demand)
{
    if (getenv("FAIL"))
        fail_msg("as it was told");
}
