#include "test.h"

#include "base/heap_queue.h"

static bool is_less(const void *arg, const void *a, const void *b)
{
    (void)arg;
    return *(const int *)a < *(const int *)b;
}

/* Items are places; what counts lies elsewhere. */
static bool is_cheaper(const void *arg, const void *a, const void *b)
{
    const double *costs = arg;
    return costs[*(const uint32_t *)a] < costs[*(const uint32_t *)b];
}

TEST(heap_queue, gives_the_first_in_order)
{
    int items[8] = {5, 3, 9, 3, 1}, n = 5;
    static const int want[] = {1, 2, 3, 3, 5, 9};
    sf_heap_queue_make(items, (size_t)n, sizeof(*items), is_less, NULL);
    items[n] = 2;
    sf_heap_queue_rise(items, (size_t)n++, sizeof(*items), is_less, NULL);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(items[0], want[i]);
        sf_heap_queue_pop(items, (size_t)n--, sizeof(*items), is_less, NULL);
    }
    assert_int_equal(n, 0);
}

TEST(heap_queue, takes_one_back_that_changed)
{
    double costs[] = {4, 1, 3};
    uint32_t items[] = {0, 1, 2};
    sf_heap_queue_make(items, 3, sizeof(*items), is_cheaper, costs);
    assert_int_equal(items[0], 1);
    costs[1] = 9;
    sf_heap_queue_sink(items, 3, 0, sizeof(*items), is_cheaper, costs);
    assert_int_equal(items[0], 2);
    costs[1] = 0;
    for (size_t i = 0; i < 3; i++)
        if (items[i] == 1)
            sf_heap_queue_rise(items, i, sizeof(*items), is_cheaper, costs);
    assert_int_equal(items[0], 1);
}

TEST(heap_queue, is_fine_when_it_is_empty_or_has_one)
{
    int one = 7;
    sf_heap_queue_make(&one, 0, sizeof(one), is_less, NULL);
    sf_heap_queue_make(&one, 1, sizeof(one), is_less, NULL);
    sf_heap_queue_pop(&one, 1, sizeof(one), is_less, NULL);
    assert_int_equal(one, 7);
}
