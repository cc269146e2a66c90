/* function_map.h - address ranges of functions whose names are known: other addresses in them get
 * the name without reading the file again. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct sf_function_place {
    uint64_t lo, hi;
    uint32_t line; /* index of its name, assigned by the caller */
};

struct sf_function_map { /* a zeroed struct is empty */
    struct sf_buf list;  /* struct sf_function_place, sorted, without overlaps */
};

void sf_function_map_done(struct sf_function_map *m);
/* A function that overlaps with another is not added: an address in both would be ambiguous. */
void sf_function_map_add(struct sf_function_map *m, const struct sf_function_place *p);
/* Valid until the next one is added. NULL: unknown. */
const struct sf_function_place *sf_function_map_find(const struct sf_function_map *m, uint64_t at);
