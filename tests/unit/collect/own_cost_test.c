#include "test.h"

#include "collect/lib/own_cost.h"

TEST(own_cost, counts_a_signal_at_the_price_of_its_time)
{
    uint64_t before = sf_own_cost_ns();
    sf_own_cost_price_signals(30000);
    sf_own_cost_add_signal(5000);
    assert_int_equal(sf_own_cost_ns() - before, 35000);
    sf_own_cost_price_signals(50000); /* says nothing of the one before */
    assert_int_equal(sf_own_cost_ns() - before, 35000);
    sf_own_cost_price_signals(0); /* not to be found out: as it was */
    sf_own_cost_add_signal(5000);
    assert_int_equal(sf_own_cost_ns() - before, 90000);
}

TEST(own_cost, counts_what_a_hook_does_not_see)
{
    uint64_t before = sf_own_cost_ns();
    sf_own_cost_add_wait(9000);
    assert_int_equal(sf_own_cost_ns() - before, 31500);
}

TEST(own_cost, counts_samples_of_heap_and_waits_also_apart)
{
    uint64_t before = sf_own_cost_ns(), before_heap = sf_own_cost_heap_ns(),
             before_waits = sf_own_cost_waits_ns();
    sf_own_cost_add_wait(1000);
    sf_own_cost_add_heap(4000);
    assert_int_equal(sf_own_cost_ns() - before, 17500);
    assert_int_equal(sf_own_cost_heap_ns() - before_heap, 14000);
    assert_int_equal(sf_own_cost_waits_ns() - before_waits, 3500);
    sf_own_cost_after_fork();
    assert_int_equal(sf_own_cost_heap_ns(), 0);
    assert_int_equal(sf_own_cost_waits_ns(), 0);
}

TEST(own_cost, takes_no_more_than_a_sample_can_have_taken)
{
    uint64_t before = sf_own_cost_ns();
    sf_own_cost_price_signals(1000);
    sf_own_cost_add_signal(4000000); /* the thread lost its processor */
    sf_own_cost_add_signal(-1);
    assert_int_equal(sf_own_cost_ns() - before, 52000);
}

TEST(own_cost, counts_switches_of_threads_with_a_clock)
{
    uint64_t before = sf_own_cost_ns();
    sf_own_cost_add_switches(1000, 1);
    assert_int_equal(sf_own_cost_ns() - before, 1000000);
    sf_own_cost_add_switches(1000, 2);
    assert_int_equal(sf_own_cost_ns() - before, 2500000);
}

static uint32_t share_at(struct sf_own_cost_window *w, int64_t s, uint64_t own_ms,
                         uint64_t process_ms)
{
    struct sf_own_cost_reading now = {(s + 1000) * 1000000000, own_ms * 1000000,
                                      process_ms * 1000000};
    return sf_own_cost_share(w, &now);
}

TEST(own_cost, is_a_share_of_ten_seconds_or_more)
{
    struct sf_own_cost_window w = {0};
    assert_int_equal(share_at(&w, 0, 50, 500), 100000); /* since the process started */
    assert_int_equal(share_at(&w, 1, 52, 502), 103585); /* not 2 ms of 2 ms */
    assert_int_equal(share_at(&w, 30, 60, 1500), 10000);
    assert_int_equal(share_at(&w, 31, 61, 1501), 10989); /* since the first one */
    assert_int_equal(share_at(&w, 60, 70, 2500), 10000);
    assert_int_equal(share_at(&w, 61, 70, 2500), 10000); /* the process slept */
    assert_int_equal(share_at(&w, 90, 5000, 2600), 1000000);
    w = (struct sf_own_cost_window){0};
    assert_int_equal(share_at(&w, 0, 0, 0), 0);
}

static unsigned n_alarms;
static void count_alarm(void)
{
    n_alarms++;
}

TEST(own_cost, wakes_the_governor_once_when_samples_took_so_much)
{
    sf_own_cost_price_signals(40000);
    sf_own_cost_watch(&(struct sf_own_cost_watch){100000, count_alarm, NULL});
    sf_own_cost_add_signal(10000);
    assert_int_equal(n_alarms, 0);
    sf_own_cost_add_signal(10000);
    assert_int_equal(n_alarms, 1);
    sf_own_cost_add_wait(40000);
    assert_int_equal(n_alarms, 1);
    sf_own_cost_watch(&(struct sf_own_cost_watch){100000, count_alarm, NULL});
    sf_own_cost_add_heap(40000);
    assert_int_equal(n_alarms, 2);
}

static unsigned n_brakes[2];
static void count_brake(bool is_heap)
{
    n_brakes[is_heap]++;
}

TEST(own_cost, brakes_events_that_were_not_looked_at)
{
    static const unsigned heap[] = {0, 0, 1, 1, 2, 2, 3, 4}; /* 200 us, and each 50 more */
    sf_own_cost_watch(&(struct sf_own_cost_watch){100000, NULL, count_brake});
    sf_own_cost_price_signals(40000);
    for (int i = 0; i < 10; i++)
        sf_own_cost_add_signal(10000); /* these do not count */
    for (int i = 0; i < 8; i++) {
        sf_own_cost_add_heap(i == 7 ? 20000 : i < 2 ? 20000 : i == 2 ? 20000 : 8000);
        assert_int_equal(n_brakes[1], heap[i]);
    }
    assert_int_equal(n_brakes[0], 0);
    sf_own_cost_watch(&(struct sf_own_cost_watch){100000, NULL, count_brake});
    for (int i = 0; i < 3; i++)
        sf_own_cost_add_wait(20000);
    assert_int_equal(n_brakes[0], 1);
}

TEST(own_cost, knows_what_cpu_samples_took)
{
    uint64_t before, n, ns = sf_own_cost_signals_ns(&before);
    sf_own_cost_price_signals(40000);
    sf_own_cost_add_signal(2000);
    sf_own_cost_add_signal(4000);
    sf_own_cost_add_heap(4000);
    assert_int_equal(sf_own_cost_signals_ns(&n) - ns, 86000);
    assert_int_equal(n - before, 2);
}
