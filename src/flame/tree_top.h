/* tree_top.h - functions by what they cost, wherever they were called from. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

struct sf_top_row {
    uint32_t frame;
    int64_t self;
    int64_t total; /* with everything called; a recursive call counts once */
};

enum sf_top_by { SF_TOP_BY_SELF, SF_TOP_BY_TOTAL };

/* One row for each frame, largest first; ties by the other number, then by name. In `req`. */
enum sf_err sf_tree_top(const struct sf_tree *t, enum sf_top_by by, struct sf_arena *req,
                        const struct sf_top_row **out, uint32_t *out_n, struct sf_why *why);

/* A frame's neighbourhood. Both trees begin with the frame itself, once, under the root: `callees`
 * goes on with what it called, `callers` with who called it, nearest first. Where it recursed, its
 * outermost call counts; so the total of both is the total of its row above. */
struct sf_sandwich {
    struct sf_tree callers, callees;
};
/* Of the frames chosen: `is_chosen` has one entry for each frame of `t`. */
enum sf_err sf_tree_sandwich(const struct sf_tree *t, const bool *is_chosen, struct sf_arena *req,
                             struct sf_sandwich *out, struct sf_why *why);
