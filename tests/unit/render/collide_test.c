/* Texts of an exported profile that were made to collide cost what others cost. */
#include "render/string_table.h"
#include "test.h"

#include "support/collide.h"

static uint64_t steps_of(bool is_colliding)
{
    struct sf_string_table t;
    struct sf_arena a;
    uint64_t before = sf_table_steps;
    static char texts[COLLIDE_KEYS][COLLIDE_LEN];
    assert_true(sf_arena_init(&a, 1 << 20));
    sf_string_table_init(&t, &a);
    for (int round = 0; round < 2; round++) {
        uint64_t at = 0;
        for (uint32_t i = 0; i < COLLIDE_KEYS; i++)
            assert_int_equal(sf_string_table_put(&t, collide_text(texts[i], &at, is_colliding)),
                             i + 1);
    }
    sf_arena_done(&a);
    return sf_table_steps - before;
}

TEST(collide, texts_of_an_export)
{
    collide_check(steps_of(true), steps_of(false));
}
