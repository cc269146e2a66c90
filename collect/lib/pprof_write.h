/* pprof_write.h - writes a profile as gzip-compressed pprof, with names from the files on this
 * machine and build ids. Not for signal handlers or hooks. */
#pragma once
#include "collect/lib/profiler.h"

/* The protobuf message. `beside` may be NULL, or a second profile whose values follow those of
 * `profile` in the same file: memory in use after allocated memory. Fails with NOMEM. */
enum sf_err sf_pprof_write(const struct sf_profile *profile, const struct sf_profile *beside,
                           struct sf_buf *out, struct sf_why *why);
