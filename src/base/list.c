#include "base/list.h"

#include <string.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/num.h"

bool sf_list_grow(struct sf_arena *req, void *list, size_t *cap, size_t size, size_t first,
                  size_t max)
{
    size_t more = *cap ? *cap : first, len;
    void *items, *to;
    if (*cap >= max || (*cap && !sf_mul_size(*cap, 2, &more)))
        return false;
    more = more < max ? more : max;
    if (!sf_mul_size(more, size, &len))
        return false;
    memcpy(&items, list, sizeof(items)); /* a pointer of some type: not to be read as another */
    to = req ? sf_arena_grow(req, items, *cap * size, len) : sf_heap_grow(items, more, size);
    if (!to)
        return false;
    memcpy(list, &to, sizeof(to));
    *cap = more;
    return true;
}

bool sf_list_grow_u32(struct sf_arena *req, void *list, uint32_t *cap, size_t size, size_t first,
                      size_t max)
{
    size_t wide = *cap;
    if (!sf_list_grow(req, list, &wide, size, first, max < UINT32_MAX ? max : UINT32_MAX))
        return false;
    *cap = sf_u32(wide);
    return true;
}
