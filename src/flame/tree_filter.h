/* tree_filter.h - the part of a tree selected by names of frames.
 *
 * Patterns are regular expressions over function names ("module (no symbols)" where there is none)
 * and match anywhere in them. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "flame/owned.h"
#include "model/tree.h"

struct sf_tree_filter { /* empty: not requested */
    sf_str focus;       /* only stacks with such a frame */
    sf_str ignore;      /* no stacks with such a frame */
    sf_str hide;        /* all stacks, without such frames */
    sf_str from;        /* stacks from the first such frame on; those without one are left out */
};

/* Applied in that order. `owned` (of `t`, may be NULL) becomes that of `out`. INPUT: an invalid
 * pattern; LIMIT: one that takes too long. */
enum sf_err sf_tree_filter(const struct sf_tree *t, const struct sf_tree_filter *filter,
                           struct sf_owned *owned, struct sf_arena *req, struct sf_tree *out,
                           struct sf_why *why);
