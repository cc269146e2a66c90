/* child.h - child processes: starts, watches and ends them by pid. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct sf_child {
    pid_t pid; /* 0: none */
};

/* Runs this binary with `argv` (argv[0] included, NULL at the end). Its output goes to the file
 * `log_path`. It is killed when its parent dies. */
enum sf_err sf_child_start_self(const char *const *argv, const char *log_path, struct sf_child *out,
                                struct sf_why *why);
struct sf_child_env {
    const char *name, *val; /* NULL: the child's own process id */
};
/* The same with another program, by its path, and additional variables. */
enum sf_err sf_child_start(const char *const *argv, const struct sf_child_env *env, size_t n_env,
                           const char *log_path, struct sf_child *out, struct sf_why *why);
/* True while it runs; once it has ended, false and *out_code its exit code (128 + signal). */
bool sf_child_is_running(struct sf_child *c, int *out_code);
/* SIGTERM, then SIGKILL after `grace_ms`; waits. A child that never started is fine. */
void sf_child_stop(struct sf_child *c, unsigned grace_ms);

/* Runs any program (found by PATH; NULL ends `argv`) with our standard files and additional
 * variables, and waits. Meanwhile Ctrl-C is left to the program. NOT_FOUND, DENIED or IO: it did
 * not start; else its exit code (128 + signal). */
enum sf_err sf_child_run(const char *const *argv, const struct sf_child_env *env, size_t n_env,
                         int *out_code, struct sf_why *why);

/* After the first call, Ctrl-C and SIGTERM only set the flag that sf_child_interrupt_is_set()
 * returns. */
void sf_child_interrupt_watch(void);
bool sf_child_interrupt_is_set(void);
