/* The queue against a sort: pushes, pops and changes in random order. */
#include <stdlib.h>

#include "base/heap_queue.h"
#include "test.h"

enum { ROUNDS = 400, MAX_ITEMS = 300 };

struct item {
    int64_t key;
    uint32_t number;
    char rest[20];
};

static uint64_t seed = 20261116;
static uint32_t pick(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % n;
}

/* Largest first when the argument reports it; equal keys by number, so that the order is one. */
static bool is_before(const void *arg, const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->key != y->key)
        return *(const bool *)arg ? x->key > y->key : x->key < y->key;
    return x->number < y->number;
}

static bool is_largest_first;
static int compare(const void *a, const void *b)
{
    return is_before(&is_largest_first, a, b) ? -1 : is_before(&is_largest_first, b, a);
}

static struct item random_item(uint32_t number)
{
    struct item x = {.key = (int64_t)pick(50) - 25, .number = number};
    memset(x.rest, (int)(number & 127), sizeof(x.rest));
    return x;
}

TEST(heap_queue, leaves_in_the_order_of_a_sort)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct item queue[MAX_ITEMS], slow[MAX_ITEMS];
        uint32_t n = pick(MAX_ITEMS / 2), number = 0;
        is_largest_first = pick(2);
        for (uint32_t i = 0; i < n; i++)
            queue[i] = slow[i] = random_item(number++);
        sf_heap_queue_make(queue, n, sizeof(*queue), is_before, &is_largest_first);
        for (uint32_t step = 0; step < 200 || n; step++) {
            uint32_t what = step < 200 ? pick(3) : 1;
            qsort(slow, n, sizeof(*slow), compare);
            if (n)
                assert_memory_equal(&queue[0], &slow[0], sizeof(*queue));
            if (what == 0 && n < MAX_ITEMS) {
                queue[n] = slow[n] = random_item(number++);
                sf_heap_queue_rise(queue, n++, sizeof(*queue), is_before, &is_largest_first);
            } else if (what == 1 && n) {
                sf_heap_queue_pop(queue, n, sizeof(*queue), is_before, &is_largest_first);
                memmove(slow, slow + 1, --n * sizeof(*slow));
            } else if (what == 2 && n) { /* the first one now comes later */
                queue[0].key = slow[0].key += is_largest_first ? -(int64_t)pick(9) : (int)pick(9);
                sf_heap_queue_sink(queue, n, 0, sizeof(*queue), is_before, &is_largest_first);
            }
        }
    }
}
