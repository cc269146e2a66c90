/* sandbox.h - restricts this process after its start: files by Landlock, system calls by seccomp.
 * Both apply to threads started afterwards and to child processes, and cannot be undone. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { SF_SANDBOX_PATHS = 64 };

struct sf_sandbox {
    const char *write[4]; /* folders with full access, except for running programs in them */
    size_t n_write;
    /* Folders and files that may be read. For a file its whole folder is allowed, so that a
     * replacement can be read; except if that is the root. */
    const char *read[SF_SANDBOX_PATHS];
    size_t n_read;
};

struct sf_sandbox_state {
    bool has_files, has_calls;
    int files_err, calls_err; /* errno, when not */
};

/* Adds what every program reads: libraries, /proc, /sys, /etc, devices. */
void sf_sandbox_usual(struct sf_sandbox *s);
/* NULL and "" are fine. LIMIT: too many. */
enum sf_err sf_sandbox_read(struct sf_sandbox *s, const char *path, struct sf_why *why);
/* To be called before the first thread that it should apply to. Features that the kernel does not
 * support are skipped and reported in `out`. */
void sf_sandbox_enter(const struct sf_sandbox *s, struct sf_sandbox_state *out);
