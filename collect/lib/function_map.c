#include "collect/lib/function_map.h"

#include <string.h>

static uint32_t function_map_count(const struct sf_function_map *m)
{
    return (uint32_t)(m->list.len / sizeof(struct sf_function_place));
}

static struct sf_function_place *function_map_places(const struct sf_function_map *m)
{
    return (struct sf_function_place *)(void *)m->list.p;
}

/* The first one that begins after `at`. */
static uint32_t first_behind(const struct sf_function_map *m, uint64_t at)
{
    uint32_t lo = 0, hi = function_map_count(m);
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (function_map_places(m)[middle].lo <= at)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

void sf_function_map_done(struct sf_function_map *m)
{
    sf_buf_done(&m->list);
}

void sf_function_map_add(struct sf_function_map *m, const struct sf_function_place *p)
{
    uint32_t n = function_map_count(m), at = first_behind(m, p->lo);
    if (p->hi <= p->lo || (at && function_map_places(m)[at - 1].hi > p->lo) ||
        (at < n && function_map_places(m)[at].lo < p->hi))
        return;
    sf_buf_add(&m->list, p, sizeof(*p));
    if (!sf_buf_ok(&m->list))
        return;
    memmove(&function_map_places(m)[at + 1], &function_map_places(m)[at], (n - at) * sizeof(*p));
    function_map_places(m)[at] = *p;
}

const struct sf_function_place *sf_function_map_find(const struct sf_function_map *m, uint64_t at)
{
    uint32_t behind = sf_buf_ok(&m->list) ? first_behind(m, at) : 0;
    return behind && at < function_map_places(m)[behind - 1].hi
               ? &function_map_places(m)[behind - 1]
               : NULL;
}
