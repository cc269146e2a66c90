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

TEST(arena, grows_one_list_from_the_far_end)
{
    struct sf_arena a;
    uint64_t *list = NULL;
    assert_true(sf_arena_init(&a, 4096 - 3));
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t *front = sf_arena_tail(&a, sizeof(*front));
        assert_non_null(front);
        assert_true(!list || front == list - 1);
        assert_int_equal((uintptr_t)front % 8, 0);
        list = front;
        *list = i;
        assert_non_null(sf_arena_raw(&a, 10, 1));
    }
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(list[i], 99 - i);
    assert_null(sf_arena_new(&a, 2400));
    while (sf_arena_tail(&a, sizeof(*list)))
        ;
    assert_true(sf_arena_used(&a) <= a.cap);
    assert_null(sf_arena_raw(&a, 8, 1));
    sf_arena_reset(&a);
    assert_int_equal(sf_arena_used(&a), 0);
    assert_non_null(sf_arena_new(&a, 4000));
    sf_arena_done(&a);
}

/* A copy's allocations are unknown to the arena: release gives their pages back all the same. */
TEST(arena, releases_what_copies_touched)
{
    enum { LEN = 8 << 20, AT = 4 << 20 };
    struct sf_arena a, copy;
    const char *p;
    assert_true(sf_arena_init(&a, LEN));
    copy = a;
    p = memset(sf_arena_raw(&copy, LEN - 4096, 16), 7, LEN - 4096);
    assert_int_equal(p[AT], 7);
    sf_arena_release(&a);
    assert_int_equal(sf_arena_used(&a), 0);
    p = sf_arena_raw(&a, LEN - 4096, 16);
    assert_int_equal(p[AT], 0); /* a fresh page */
    sf_arena_done(&a);
}
