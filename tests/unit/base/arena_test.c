#include "test.h"

#include "base/arena.h"
#include "base/err.h"

TEST(arena, refuses_beyond_its_cap_and_stays_usable)
{
    struct sf_arena a;
    assert_true(sf_arena_init(&a, 4096));
    assert_non_null(sf_arena_new(&a, 4000));
    assert_null(sf_arena_new(&a, 200));
    assert_non_null(sf_arena_new(&a, 16));
    assert_null(sf_arena_new_n(&a, SIZE_MAX / 2, 3));
    sf_arena_done(&a);
}

TEST(arena, gives_scratch_back_and_zeroes_it_again)
{
    struct sf_arena a, scratch;
    uint8_t *p;
    assert_true(sf_arena_init(&a, 4096));
    scratch = a;
    memset(sf_arena_new(&scratch, 64), 7, 64);
    assert_int_equal(sf_arena_used(&a), 0);
    p = sf_arena_new(&a, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(p[i], 0);
    sf_arena_done(&a);
}

TEST(arena, grows_the_newest_in_place_and_copies_older_ones)
{
    struct sf_arena a;
    char *first, *grown, *moved;
    assert_true(sf_arena_init(&a, 4096));
    first = sf_arena_raw(&a, 8, 16);
    memcpy(first, "12345678", 8);
    grown = sf_arena_grow(&a, first, 8, 16);
    assert_ptr_equal(first, grown);
    assert_non_null(sf_arena_new(&a, 1));
    moved = sf_arena_grow(&a, grown, 16, 32);
    assert_ptr_not_equal(moved, grown);
    assert_memory_equal(moved, "12345678", 8);
    sf_arena_done(&a);
}
