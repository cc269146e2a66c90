#include "test.h"

#include "os/clock.h"
#include "os/queue.h"
#include "os/thread.h"

TEST(queue, says_busy_when_full_and_drains_after_close)
{
    int a, b, c;
    struct sf_queue *q = sf_queue_new(2);
    assert_ok(sf_queue_give(q, &a));
    assert_ok(sf_queue_give(q, &b));
    assert_err(sf_queue_give(q, &c), SF_ERR_BUSY);
    sf_queue_close(q);
    assert_err(sf_queue_give(q, &c), SF_ERR_CANCELLED);
    assert_ptr_equal(sf_queue_take(q), &a);
    assert_ptr_equal(sf_queue_take(q), &b);
    assert_null(sf_queue_take(q));
    sf_queue_free(q);
}

static void take_all(void *arg)
{
    struct sf_queue *q = arg;
    while (sf_queue_take(q)) {
    }
}

TEST(queue, hands_over_between_threads)
{
    struct sf_queue *q = sf_queue_new(4);
    struct sf_thread t = {0};
    int item;
    assert_ok(sf_thread_start(&t, "taker", 0, take_all, q, NULL));
    for (int i = 0; i < 1000; i++) {
        while (sf_queue_give(q, &item) == SF_ERR_BUSY)
            sf_clock_sleep_ms(0);
    }
    sf_queue_close(q);
    sf_thread_join(&t);
    assert_int_equal(sf_queue_depth(q), 0);
    sf_queue_free(q);
}

TEST(queue, stops_waiting_at_the_deadline)
{
    struct sf_queue *q = sf_queue_new(1);
    assert_null(sf_queue_take_until(q, sf_clock_mono_ns() + 1000000));
    sf_queue_free(q);
}
