#include "collect/lib/runnable.h"

#include "collect/sys/tasks.h"
#include "test.h"

TEST(runnable, counts_at_least_the_reading_thread)
{
    assert_true(sf_tasks_host_runnable() >= 1);
}

TEST(runnable, gives_the_mean_of_the_readings_in_between)
{
    struct sf_runnable from = sf_runnable_now();
    assert_int_equal(sf_runnable_mean(from, sf_runnable_now()), 0); /* none */
    sf_runnable_read(false);
    assert_true(sf_runnable_mean(from, sf_runnable_now()) >= 1);
    for (int i = 0; i < 3; i++)
        sf_runnable_turn();
    assert_int_equal((sf_runnable_now().sum - from.sum) >> 40, 4);
    struct sf_runnable later = {from.sum + ((uint64_t)2 << 40) + 25};
    assert_int_equal(sf_runnable_mean(from, later), 13);
    from.sum = (uint64_t)-1 << 40 | 7; /* their number overflows */
    later.sum = ((uint64_t)1 << 40) + 7 + 24;
    assert_int_equal(sf_runnable_mean(from, later), 12);
}
