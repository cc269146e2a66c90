/* sandbox.h - what this process may still do once it has started: files by Landlock, calls by
 * seccomp. Both hold for threads that are started afterwards and for everything they start, and
 * cannot be reverted. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { SF_SANDBOX_PATHS = 64 };

struct sf_sandbox {
    const char *write[4]; /* folders: everything but running programs in them */
    size_t n_write;
    /* Folders and files that are read. A file is read in its folder, so that one that takes its
     * place is found; not if that is the root. */
    const char *read[SF_SANDBOX_PATHS];
    size_t n_read;
};

struct sf_sandbox_state {
    bool has_files, has_calls;
    int files_err, calls_err; /* errno, when not */
};

/* What every program reads: libraries, /proc, /sys, /etc, devices. */
void sf_sandbox_usual(struct sf_sandbox *s);
/* NULL and "" are fine. LIMIT: too many. */
enum sf_err sf_sandbox_read(struct sf_sandbox *s, const char *path, struct sf_why *why);
/* Before the first thread that should be held by it. What the kernel does not support is left out
 * and reported in `out`. */
void sf_sandbox_enter(const struct sf_sandbox *s, struct sf_sandbox_state *out);
