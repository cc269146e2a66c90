#include "base/list.h"

#include <string.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/num.h"

bool sf_list_grow(struct sf_arena *req, void *list, size_t size, void *cap, size_t cap_size,
                  size_t first, size_t max)
{
    size_t old = sf_list_cap(cap, cap_size), more = first, len;
    void *items, *to;
    if (cap_size == sizeof(uint32_t) && max > UINT32_MAX)
        max = UINT32_MAX;
    if (old >= max || (old && !sf_mul_size(old, 2, &more)))
        return false;
    more = more < max ? more : max;
    if (!sf_mul_size(more, size, &len))
        return false;
    memcpy(&items, list, sizeof(items)); /* the pointer may have any type: copy it instead of
                                          * casting */
    to = req ? sf_arena_grow(req, items, old * size, len) : sf_heap_grow(items, more, size);
    if (!to)
        return false;
    memcpy(list, &to, sizeof(to));
    if (cap_size == sizeof(uint32_t))
        *(uint32_t *)cap = sf_u32(more);
    else
        *(size_t *)cap = more;
    return true;
}
