/* function_map.h - where functions lie whose names were read before: a further address in one of
 * them has its name without another look into the file. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct sf_function_place {
    uint64_t lo, hi;
    uint32_t line; /* the caller's number of its name */
};

struct sf_function_map { /* a zeroed one is empty */
    struct sf_buf list;  /* struct sf_function_place, sorted, none over another */
};

void sf_function_map_done(struct sf_function_map *m);
/* One that overlaps with another is not kept: which of them an address belongs to is not clear. */
void sf_function_map_add(struct sf_function_map *m, const struct sf_function_place *p);
/* Lives until the next one is added. NULL: not known. */
const struct sf_function_place *sf_function_map_find(const struct sf_function_map *m, uint64_t at);
