/* frame_functions.h - numbers functions: frames that differ only by line are one function. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

struct sf_frame_functions {
    const uint32_t *of;  /* by frame of the tree: number of its function */
    const sf_str *names; /* by number; borrowed from the tree, or in `req` */
    uint32_t n;
};

/* In `req`. LIMIT: it is full. */
enum sf_err sf_frame_functions_make(const struct sf_tree *t, struct sf_arena *req,
                                    struct sf_frame_functions *out, struct sf_why *why);
