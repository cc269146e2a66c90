#include "test.h"

#include "base/arena.h"
#include "base/heap.h"
#include "base/list.h"

struct pair {
    uint64_t a, b;
};

TEST(list, keeps_what_it_has_while_it_grows)
{
    struct pair *list = NULL;
    uint32_t n = 0, cap = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t before = cap;
        assert_true(sf_list_room(&list, n, &cap, 3));
        assert_int_equal(cap, before > i ? before : before ? before * 2 : 3);
        list[n++] = (struct pair){i, i * 7};
    }
    assert_int_equal(cap, 1536);
    for (uint32_t i = 0; i < n; i++)
        assert_true(list[i].a == i && list[i].b == i * 7);
    sf_heap_free(list);
}

TEST(list, grows_to_its_limit_and_no_further)
{
    char(*names)[24] = NULL;
    size_t n = 0, cap = 0;
    for (; n < 21; n++) {
        assert_true(sf_list_room_max(&names, n, &cap, 8, 21));
        memset(names[n], 'a' + (int)n, sizeof(names[n]));
    }
    assert_int_equal(cap, 21);
    char(*before)[24] = names;
    assert_false(sf_list_room_max(&names, n, &cap, 8, 21));
    assert_ptr_equal(names, before);
    assert_int_equal(cap, 21);
    assert_int_equal(names[20][23], 'a' + 20);
    sf_heap_free(names);

    uint16_t *small = NULL;
    uint32_t small_cap = 0;
    assert_true(sf_list_room_max(&small, 0, &small_cap, 8, 5)); /* the limit is below the first */
    assert_int_equal(small_cap, 5);
    assert_false(sf_list_room_max(&small, 5, &small_cap, 8, 5));
    sf_heap_free(small);
}

TEST(list, refuses_what_no_number_can_count)
{
    struct pair *list = NULL, *none = NULL;
    size_t cap = SIZE_MAX / sizeof(struct pair), odd = (size_t)1 << 63;
    uint32_t most = SF_LIST_MAX, big = UINT32_MAX - 1;
    assert_false(sf_list_room_max(&list, cap, &cap, 1, SIZE_MAX)); /* twice its bytes would wrap */
    assert_int_equal(cap, SIZE_MAX / sizeof(struct pair));
    assert_false(sf_list_room_max(&none, odd, &odd, 1, SIZE_MAX)); /* and twice its items */
    assert_false(sf_list_room(&list, most, &most, 1));
    assert_false(sf_list_room_max(&list, big, &big, 1, 1000));
    assert_int_equal(most, SF_LIST_MAX);
    assert_null(list);
}

TEST(list, is_as_it_was_when_an_allocation_fails)
{
    for (uint64_t nth = 1; nth < 8; nth++) {
        uint64_t *list = NULL;
        uint32_t n = 0, cap = 0;
        sf_heap_fail_after(nth);
        while (sf_list_room(&list, n, &cap, 2) && n < 1000) {
            list[n] = n;
            n++;
        }
        sf_heap_fail_after(0);
        assert_int_equal(cap, nth == 1 ? 0 : 2u << (nth - 2));
        assert_int_equal(n, cap);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(list[i], i);
        assert_true(sf_list_room(&list, n, &cap, 2)); /* and continues */
        list[n] = n;
        sf_heap_free(list);
    }
}

TEST(list, lives_in_an_arena_until_that_is_full)
{
    struct sf_arena a;
    uint32_t *list = NULL, n = 0, cap = 0;
    assert_true(sf_arena_init(&a, 8192));
    while (sf_list_room_in(&a, &list, n, &cap, 4)) {
        if (n == 100) /* something else comes behind it: the next growth moves it */
            assert_non_null(sf_arena_new(&a, 16));
        list[n] = n;
        n++;
    }
    assert_true(n >= 512 && n == cap);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(list[i], i);
    assert_false(sf_list_room_in_max(&a, &list, n, &cap, 4, n));
    sf_arena_done(&a);
}

TEST(list, grows_in_place_at_the_end_of_an_arena)
{
    struct sf_arena a;
    struct pair *list = NULL, *first;
    size_t cap = 0;
    assert_true(sf_arena_init(&a, 65536));
    assert_true(sf_list_room_in(&a, &list, 0, &cap, 4));
    first = list;
    for (size_t n = 1; n <= 256; n++)
        assert_true(sf_list_room_in(&a, &list, n, &cap, 4));
    assert_ptr_equal(list, first);
    assert_int_equal(sf_arena_used(&a), cap * sizeof(*list));
    sf_arena_done(&a);
}
