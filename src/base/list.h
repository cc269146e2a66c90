/* list.h - arrays that grow: a plain pointer, a count and a capacity in the struct of their owner,
 * so that readers index as usual. These functions make space for one more item:
 *
 *     if (!sf_list_room(&x->rows, x->n, &x->cap, 64))
 *         return no memory;
 *     x->rows[x->n++] = row;
 *
 * A full array becomes twice as long, an empty one `first` items. New items are not zeroed. False
 * when memory or the limit is exhausted; array and capacity are then unchanged. `cap` is a uint32_t
 * or a size_t. When several arrays share a capacity, pass a copy of it for all but the last. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sf_arena;

#define SF_LIST_MAX (1u << 31) /* items of any list: n + 1 never wraps in 32 bits */

/* On the heap: freed with sf_heap_free(). */
#define sf_list_room(list, n, cap, first) sf_list_room_max(list, n, cap, first, SF_LIST_MAX)
#define sf_list_room_max(list, n, cap, first, max) \
    sf_list_room_heap(list, sizeof(**(list)), n, cap, sizeof(*(cap)), first, max)
/* In an arena: grows in place when it is the newest allocation, else the old array stays there
 * unused. */
#define sf_list_room_in(req, list, n, cap, first) \
    sf_list_room_in_max(req, list, n, cap, first, SF_LIST_MAX)
#define sf_list_room_in_max(req, list, n, cap, first, max) \
    sf_list_room_arena(req, list, sizeof(**(list)), n, cap, sizeof(*(cap)), first, max)

/* The function behind these macros: `list` is the address of the pointer, `size` the size of an
 * item, `cap_size` that of the capacity. */
bool sf_list_grow(struct sf_arena *req, void *list, size_t size, void *cap, size_t cap_size,
                  size_t first, size_t max); /* without an arena: on the heap */

static inline size_t sf_list_cap(const void *cap, size_t cap_size)
{
    return cap_size == sizeof(uint32_t) ? *(const uint32_t *)cap : *(const size_t *)cap;
}
static inline bool sf_list_room_heap(void *list, size_t size, size_t n, void *cap, size_t cap_size,
                                     size_t first, size_t max)
{
    return n < sf_list_cap(cap, cap_size) ||
           sf_list_grow(NULL, list, size, cap, cap_size, first, max);
}
static inline bool sf_list_room_arena(struct sf_arena *req, void *list, size_t size, size_t n,
                                      void *cap, size_t cap_size, size_t first, size_t max)
{
    return n < sf_list_cap(cap, cap_size) ||
           (req && sf_list_grow(req, list, size, cap, cap_size, first, max));
}
