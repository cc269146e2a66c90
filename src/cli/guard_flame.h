/* guard_flame.h - the flame graph of a guard's comparison: the candidate, coloured by change. */
#pragma once
#include "cli/guard_ask.h"
#include "model/tree.h"

struct sf_guard_flame {
    struct sf_tree trees[2]; /* baseline, candidate; grouped by function */
    uint64_t n[2];           /* number of spans or runs in the sums; 0: the values are means */
};

/* CPU profiles of the two sets of spans, per span. NOT_FOUND: a side has none. In `req`. */
enum sf_err sf_guard_flame_ask(const struct sf_client *client,
                               const struct sf_guard_question *question, struct sf_arena *req,
                               struct sf_guard_flame *out, struct sf_why *why);
/* Writes the file. IO names it. */
enum sf_err sf_guard_flame_write(const struct sf_guard_flame *f, const char *path,
                                 struct sf_arena scratch, struct sf_why *why);
