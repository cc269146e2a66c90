/* Series whose keys were made to collide cost what others cost. */
#include "exec/metrics_table.h"
#include "test.h"

#include "support/collide.h"

static uint64_t steps_of(bool is_colliding)
{
    struct sf_arena a;
    struct sf_metrics_table t = {.req = &a};
    uint64_t before = sf_table_steps;
    char text[COLLIDE_LEN];
    assert_true(sf_arena_init(&a, 1 << 20));
    for (int round = 0; round < 2; round++) {
        uint64_t at = 0;
        for (uint32_t i = 0; i < COLLIDE_KEYS; i++) {
            struct sf_table_series *s = sf_metrics_table_series(
                &t, collide_text(text, &at, is_colliding));
            assert_int_equal(s->number, i);
        }
    }
    sf_arena_done(&a);
    return sf_table_steps - before;
}

TEST(collide, keys_of_series)
{
    collide_check(steps_of(true), steps_of(false));
}
