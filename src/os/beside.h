/* beside.h - finds files that belong to this program: next to it in a build tree, below its prefix
 * when installed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The first readable one of `places` (which begin with '/' and are relative to this program's
 * folder). False: none; then `out` is the folder. */
bool sf_beside_find(const char *const *places, size_t n_places, char *out, size_t cap);
