#include "test.h"

#include "collect/lib/stack_table.h"

TEST(stack_table, keeps_each_stack_once)
{
    struct sf_stack_table *t = sf_stack_table_new();
    uintptr_t a[3] = {1, 2, 3}, b[3] = {1, 2, 4}, got[8];
    uint32_t first, second;
    uint8_t end;
    assert_non_null(t);
    first = sf_stack_table_add(t, a, 3, 0);
    second = sf_stack_table_add(t, b, 3, 0);
    assert_true(first && second && first != second);
    assert_int_equal(sf_stack_table_add(t, a, 3, 0), first);
    assert_true(sf_stack_table_add(t, a, 3, 1) != first); /* one that ended elsewhere */
    assert_int_equal(sf_stack_table_get(t, second, got, 8, &end), 3);
    assert_memory_equal(got, b, sizeof(b));
    assert_int_equal(sf_stack_table_get(t, first, got, 2, &end), 2);
    assert_int_equal(sf_stack_table_get(t, 0, got, 8, &end), 0);
    assert_int_equal(sf_stack_table_get(t, 99, got, 8, &end), 0);
    sf_stack_table_free(t);
}

TEST(stack_table, says_when_it_is_full)
{
    struct sf_stack_table *t = sf_stack_table_new();
    uintptr_t frames[64] = {0};
    uint32_t n = 0;
    for (uint32_t i = 1; i <= SF_STACK_TABLE_STACKS; i++) {
        frames[0] = i;
        n += sf_stack_table_add(t, frames, 64, 0) != 0;
    }
    assert_int_equal(n, SF_STACK_TABLE_WORDS / 64);
    assert_int_equal(sf_stack_table_lost(t), SF_STACK_TABLE_STACKS - n);
    frames[0] = 5; /* what is there is found still */
    assert_true(sf_stack_table_add(t, frames, 64, 0) != 0);
    sf_stack_table_free(t);
}
