/* pprof_write.h - a profile as gzip-compressed pprof, with names where the files on this machine
 * have them and build ids everywhere. Off the hot path. */
#pragma once
#include "collect/lib/profiler.h"

/* The protobuf message. `beside` may be NULL, or one whose values stand in the same file behind
 * those of `profile`: what is in use beside what was allocated. Fails with NOMEM. */
enum sf_err sf_pprof_write(const struct sf_profile *profile, const struct sf_profile *beside,
                           struct sf_buf *out, struct sf_why *why);
