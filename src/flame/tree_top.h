/* tree_top.h - functions sorted by cost, summed over all callers. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

struct sf_top_row {
    uint32_t frame;
    int64_t self;
    int64_t total; /* including callees; a recursive call counts once */
};

enum sf_top_by { SF_TOP_BY_SELF, SF_TOP_BY_TOTAL };

/* One row for each frame, largest first; ties by the other number, then by name. In `req`. */
enum sf_err sf_tree_top(const struct sf_tree *t, enum sf_top_by by, struct sf_arena *req,
                        const struct sf_top_row **out, uint32_t *out_n, struct sf_why *why);
