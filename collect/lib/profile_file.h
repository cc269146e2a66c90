/* profile_file.h - writes profiles to files, without a server. */
#pragma once
#include "base/err.h"
#include "collect/lib/profiler.h"

enum { SF_PROFILE_PATH_CAP = 4096 };

/* The absolute path of `file`, because the program may change its directory before the profile is
 * written. */
void sf_profile_file_path(char out[SF_PROFILE_PATH_CAP], const char *file);
/* Starts those kinds (bits), for files only or also for the server, which gets the same samples.
 * DENIED in a program with raised privileges; else the profiler's error. */
enum sf_err sf_profile_files_start(enum sf_profile_party party, unsigned kinds, struct sf_why *why);
/* Stops them and writes each as gzip-compressed pprof: the lowest kind to `path`, others to `path`
 * with the kind's name before the first dot ("out.pb.gz", "out-wall.pb.gz"). */
enum sf_err sf_profile_files_stop(enum sf_profile_party party, unsigned kinds, const char *path,
                                  struct sf_why *why);
void sf_profile_file_after_fork(void); /* in the child, which is not being profiled */
