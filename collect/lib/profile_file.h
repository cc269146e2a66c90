/* profile_file.h - profiles to files, without a server. */
#pragma once
#include "base/err.h"
#include "collect/lib/profiler.h"

enum { SF_PROFILE_PATH_CAP = 4096 };

/* Where `file` points now, whatever folder the program goes to before its profile is written. */
void sf_profile_file_path(char out[SF_PROFILE_PATH_CAP], const char *file);
/* Starts those kinds (bits), for files alone or for both: a server gets the same samples. DENIED in
 * a program with raised privileges; else as the profiler says. */
enum sf_err sf_profile_files_start(enum sf_profile_party party, unsigned kinds, struct sf_why *why);
/* Ends them and writes each as gzip-compressed pprof: the lowest kind to `path`, a further one to
 * `path` with its word before the name's first dot ("out.pb.gz", "out-wall.pb.gz"). */
enum sf_err sf_profile_files_stop(enum sf_profile_party party, unsigned kinds, const char *path,
                                  struct sf_why *why);
void sf_profile_file_after_fork(void); /* in the child: it is not the one being profiled */
