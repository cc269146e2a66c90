/* own_profiler.h - the profilers of this very process: those of libspanflame, when it is at hand.
 *
 * The library is a program's guest like any other: found beside this binary or among what is
 * preloaded, spoken to by the names of its public header. Nothing is linked, so a server without it
 * runs all the same. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { SF_LIBRARY_PATH_CAP = 4096 };

struct sf_own_profiler {
    int (*cpu_start)(const char *path, unsigned rate_hz);
    int (*cpu_stop)(void);
    int (*heap_start)(size_t mean_bytes);
    int (*heap_write)(const char *path);
    size_t (*problem)(char *out, size_t cap);
};

/* Where the library is: beside the binary in a build tree, below the same prefix when installed. */
bool sf_own_profiler_library(char out[SF_LIBRARY_PATH_CAP]);
/* UNSUPPORTED: there is no library. Once it was found it stays loaded. */
enum sf_err sf_own_profiler_open(struct sf_own_profiler *out, struct sf_why *why);
/* Samples the CPU time of all threads until stop, which writes gzip-compressed pprof to `path`.
 * BUSY: it is on already. */
enum sf_err sf_own_profiler_cpu_start(const struct sf_own_profiler *p, const char *path,
                                      unsigned rate_hz, struct sf_why *why);
enum sf_err sf_own_profiler_cpu_stop(const struct sf_own_profiler *p, struct sf_why *why);
/* Allocated and live memory by stack since the first call, written likewise. UNSUPPORTED: the
 * library does not stand before malloc, which takes preloading it. */
enum sf_err sf_own_profiler_heap(const struct sf_own_profiler *p, const char *path,
                                 struct sf_why *why);
