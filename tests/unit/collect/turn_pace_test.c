#include "test.h"

#include "collect/lib/turn_pace.h"

enum { US = 1000, MS = 1000000 };

/* The time until the next turn after ten that cost that much, while the process uses so many
 * thousandths of a processor. */
static int64_t after_ten(int64_t cost_ns, int64_t per_1000)
{
    struct sf_turn_pace p = {0};
    int64_t time_ns = 5000 * (int64_t)MS, wait_ns = 0;
    for (int i = 0; i < 10; i++) {
        wait_ns = sf_turn_pace(&p, time_ns, time_ns * per_1000 / 1000, cost_ns);
        assert_in_range(wait_ns, SF_TURN_NS, SF_TURN_MOST_NS);
        time_ns += wait_ns;
    }
    return wait_ns;
}

TEST(turn_pace, is_ten_a_second_while_that_costs_nothing)
{
    assert_int_equal(after_ten(50 * US, 1000), SF_TURN_NS);
    assert_int_equal(after_ten(20 * US, 0), SF_TURN_NS); /* a program that sleeps */
}

TEST(turn_pace, spreads_turns_to_a_quarter_percent_of_the_programs_time)
{
    int64_t wait_ns = after_ten(300 * US, 200);
    assert_in_range(wait_ns, 590 * MS, 610 * MS);
    assert_int_equal(after_ten(3 * MS, 100), SF_TURN_MOST_NS);
}

TEST(turn_pace, forgets_one_that_was_dear)
{
    struct sf_turn_pace p = {0};
    int64_t time_ns = 5000 * (int64_t)MS, wait_ns;
    (void)sf_turn_pace(&p, time_ns, time_ns, 20 * (int64_t)MS); /* a window was sent */
    for (int i = 0; i < 30; i++) {
        time_ns += 100 * MS;
        wait_ns = sf_turn_pace(&p, time_ns, time_ns, 50 * US);
    }
    assert_int_equal(wait_ns, SF_TURN_NS);
}
