/* keep_verify.h - checks verdicts, rule sets and pins of a directory, and changes nothing. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "os/dir.h"

/* Reports and counts each fault. `uuid` NULL: of any store. */
enum sf_err sf_keep_verify(struct sf_dir *dir, const uint8_t *uuid, struct sf_arena scratch,
                           void (*say)(void *arg, const char *sentence), void *arg,
                           uint64_t *n_faults, struct sf_why *why);
