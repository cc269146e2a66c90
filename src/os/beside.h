/* beside.h - files that belong to this program: beside it in a build, below its prefix when
 * installed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The first of `places` (they begin with '/' and are taken from this program's folder) that may be
 * read. False: none; `out` is then the folder. */
bool sf_beside_find(const char *const *places, size_t n_places, char *out, size_t cap);
