/* guard_bench.h - a benchmark of two builds, run in turn under `spanflame record`. */
#pragma once
#include "base/err.h"

enum { SF_GUARD_BENCH_PATH = 64 };

struct sf_guard_bench {
    const char *commands[2]; /* baseline, candidate: a program with its arguments, as in a shell */
    const char *type;        /* of the profile; NULL: CPU time */
    unsigned runs;           /* number of runs of each */
    unsigned rate_hz;
    char folders[2][SF_GUARD_BENCH_PATH]; /* folders of the profiles; created by run */
};

/* A command's output goes to standard error. INPUT: a run failed or wrote no profile. The caller
 * calls done. */
enum sf_err sf_guard_bench_run(struct sf_guard_bench *b, struct sf_why *why);
void sf_guard_bench_done(struct sf_guard_bench *b); /* removes the folders; zeroed is fine */
