/* file_names.h - a program's file, its debug file, or both: offsets of code to names as people
 * write them, lines and inlined calls; where there are no names, to the start of their function. */
#pragma once
#include "model/namer.h"

/* `named` is borrowed until it returns. */
typedef void sf_file_names_taker(void *arg, uint64_t off, const struct sf_named *named);

struct sf_file_names_paths { /* each may be NULL or of a file that is not there */
    const char *program, *debug;
    const char *shared;  /* what dwz moved out of them, which other files share */
    const char *package; /* .dwp: what -gsplit-dwarf left out of the program */
};

/* Calls `take` once for each of the `n` offsets, in any order. False: neither program nor debug
 * file could be read, or no memory; then `take` was not called for all of them. */
bool sf_file_names_find(const struct sf_file_names_paths *paths, const uint64_t *offs, uint32_t n,
                        sf_file_names_taker *take, void *arg);
