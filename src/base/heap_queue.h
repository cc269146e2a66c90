/* heap_queue.h - a priority queue: a binary heap in a plain array, whose owner keeps the count. The
 * first item is always items[0].
 *
 * `before(arg, a, b)` says whether item a leaves before item b; equal ones leave in any order. All
 * functions are inline, so that a comparison costs no call. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/invariant.h"

enum { SF_HEAP_QUEUE_ITEM_LEN = 64 }; /* maximum size of an item in bytes */

typedef bool sf_heap_queue_before(const void *arg, const void *a, const void *b);

/* Restores the order when items[i] may belong closer to the front. */
static inline void sf_heap_queue_rise(void *items, size_t i, size_t size,
                                      sf_heap_queue_before *before, const void *arg)
{
    char *at = items, item[SF_HEAP_QUEUE_ITEM_LEN];
    SF_ASSERT(size <= sizeof(item));
    memcpy(item, at + i * size, size);
    for (; i > 0 && before(arg, item, at + (i - 1) / 2 * size); i = (i - 1) / 2)
        memcpy(at + i * size, at + (i - 1) / 2 * size, size);
    memcpy(at + i * size, item, size);
}

/* Restores the order when items[i], of `n`, may belong further back. */
static inline void sf_heap_queue_sink(void *items, size_t n, size_t i, size_t size,
                                      sf_heap_queue_before *before, const void *arg)
{
    char *at = items, item[SF_HEAP_QUEUE_ITEM_LEN];
    size_t next;
    SF_ASSERT(size <= sizeof(item) && i < n);
    memcpy(item, at + i * size, size);
    for (; (next = 2 * i + 1) < n; i = next) {
        if (next + 1 < n && before(arg, at + (next + 1) * size, at + next * size))
            next++;
        if (!before(arg, at + next * size, item))
            break;
        memcpy(at + i * size, at + next * size, size);
    }
    memcpy(at + i * size, item, size);
}

/* Makes `n` items in any order a queue. */
static inline void sf_heap_queue_make(void *items, size_t n, size_t size,
                                      sf_heap_queue_before *before, const void *arg)
{
    for (size_t i = n / 2; i > 0; i--)
        sf_heap_queue_sink(items, n, i - 1, size, before, arg);
}

/* Removes the first of `n` items (at least one); n - 1 remain. Read items[0] before if needed. */
static inline void sf_heap_queue_pop(void *items, size_t n, size_t size,
                                     sf_heap_queue_before *before, const void *arg)
{
    SF_ASSERT(n > 0);
    if (n == 1)
        return;
    memcpy(items, (char *)items + (n - 1) * size, size);
    sf_heap_queue_sink(items, n - 1, 0, size, before, arg);
}
