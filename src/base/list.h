/* list.h - arrays that grow: a plain pointer, a count and a capacity in the struct of whoever owns
 * them, so that readers index as usual. What is here makes room for one item more:
 *
 *     if (!sf_list_room(&x->rows, x->n, &x->cap, 64))
 *         return no memory;
 *     x->rows[x->n++] = row;
 *
 * A full array becomes twice as long, an empty one `first` items. New items are not zeroed.
 * False when memory or the limit ends it; array and capacity are then as they were. `cap` is a
 * uint32_t or a size_t. Of arrays that share a capacity all but the last are given a copy of it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sf_arena;

#define SF_LIST_MAX (1u << 31) /* items of any list: n + 1 never wraps in 32 bits */

/* On the heap: freed with sf_heap_free(). */
#define sf_list_room(list, n, cap, first) sf_list_room_max(list, n, cap, first, SF_LIST_MAX)
#define sf_list_room_max(list, n, cap, first, max) \
    (_Generic((cap), uint32_t *                    \
              : sf_list_heap_u32, size_t *         \
              : sf_list_heap_size)(list, n, cap, sizeof(**(list)), first, max))
/* In an arena: grows in place when nothing came behind it, else the old array stays there unused.
 */
#define sf_list_room_in(req, list, n, cap, first) \
    sf_list_room_in_max(req, list, n, cap, first, SF_LIST_MAX)
#define sf_list_room_in_max(req, list, n, cap, first, max) \
    (_Generic((cap), uint32_t *                            \
              : sf_list_arena_u32, size_t *                \
              : sf_list_arena_size)(req, list, n, cap, sizeof(**(list)), first, max))

/* What the words above stand for; `list` is the address of the pointer. */
bool sf_list_grow(struct sf_arena *req, void *list, size_t *cap, size_t size, size_t first,
                  size_t max); /* without an arena: on the heap */
bool sf_list_grow_u32(struct sf_arena *req, void *list, uint32_t *cap, size_t size, size_t first,
                      size_t max);

static inline bool sf_list_heap_size(void *list, size_t n, size_t *cap, size_t size, size_t first,
                                     size_t max)
{
    return n < *cap || sf_list_grow(NULL, list, cap, size, first, max);
}
static inline bool sf_list_heap_u32(void *list, uint32_t n, uint32_t *cap, size_t size,
                                    size_t first, size_t max)
{
    return n < *cap || sf_list_grow_u32(NULL, list, cap, size, first, max);
}
static inline bool sf_list_arena_size(struct sf_arena *req, void *list, size_t n, size_t *cap,
                                      size_t size, size_t first, size_t max)
{
    return n < *cap || (req && sf_list_grow(req, list, cap, size, first, max));
}
static inline bool sf_list_arena_u32(struct sf_arena *req, void *list, uint32_t n, uint32_t *cap,
                                     size_t size, size_t first, size_t max)
{
    return n < *cap || (req && sf_list_grow_u32(req, list, cap, size, first, max));
}
