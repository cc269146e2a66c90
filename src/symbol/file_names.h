/* file_names.h - finds demangled names, lines and inlined calls for offsets of code in a program's
 * file, its debug file, or both; without names, the start of the function. */
#pragma once
#include "model/namer.h"

/* `named` is valid only during the call. */
typedef void sf_file_names_taker(void *arg, uint64_t off, const struct sf_named *named);

struct sf_file_names_paths { /* each may be NULL or name a missing file */
    const char *program, *debug;
    const char *shared;  /* file to which dwz moved their common debug information */
    const char *package; /* .dwp: debug information separated by -gsplit-dwarf */
};

/* Calls `take` once for each of the `n` offsets, in any order. False: neither program nor debug
 * file could be read, or no memory; then `take` was not called for all of them. */
bool sf_file_names_find(const struct sf_file_names_paths *paths, const uint64_t *offs, uint32_t n,
                        sf_file_names_taker *take, void *arg);
