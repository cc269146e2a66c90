/* pprof_write.h - a profile as gzip-compressed pprof, with names where the files on this machine
 * have them and build ids everywhere. Off the hot path. */
#pragma once
#include "collect/lib/profiler.h"

/* The protobuf message. Fails with NOMEM. */
enum sf_err sf_pprof_write(const struct sf_profile *profile, struct sf_buf *out,
                           struct sf_why *why);
