/* own_profiler.h - profiles this process itself, with libspanflame if it is available.
 *
 * The library is found next to this binary or among the preloaded libraries, and used through its
 * public functions. It is not linked, so the server also runs without it. */
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

/* The path of the library: next to the binary in a build tree, below the same prefix when
 * installed. */
bool sf_own_profiler_library(char out[SF_LIBRARY_PATH_CAP]);
/* UNSUPPORTED: there is no library. Once found it stays loaded. */
enum sf_err sf_own_profiler_open(struct sf_own_profiler *out, struct sf_why *why);
/* Samples the CPU time of all threads until stop, which writes gzip-compressed pprof to `path`.
 * BUSY: already running. */
enum sf_err sf_own_profiler_cpu_start(const struct sf_own_profiler *p, const char *path,
                                      unsigned rate_hz, struct sf_why *why);
enum sf_err sf_own_profiler_cpu_stop(const struct sf_own_profiler *p, struct sf_why *why);
/* Writes a profile of allocated and live memory since the first call. UNSUPPORTED: the library does
 * not intercept malloc, for which it must be preloaded. */
enum sf_err sf_own_profiler_heap(const struct sf_own_profiler *p, const char *path,
                                 struct sf_why *why);
