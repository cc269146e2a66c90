/* tree_group.h - merges frames to coarser ones: functions, files, packages. */
#pragma once
#include "base/err.h"
#include "flame/frame_name.h"
#include "flame/owned.h"

struct sf_tree_grouping {
    enum sf_frame_group by;
    bool is_collapsed; /* a frame directly below an equal one is merged with it: recursion is
                        * collapsed */
};

/* Frames with the same name become one; the result has only a name (`function`), a kind, and with
 * LINE file and line. Grouping by anything coarser than a function always collapses recursion:
 * calls inside one package are one bar. In `req`; strings are borrowed from `t`. */
enum sf_err sf_tree_group(const struct sf_tree *t, struct sf_tree_grouping how,
                          struct sf_arena *req, struct sf_tree *out, struct sf_why *why);
/* The same; `owned` (of `t`) becomes that of `out`. */
enum sf_err sf_tree_group_owned(const struct sf_tree *t, struct sf_tree_grouping how,
                                struct sf_owned *owned, struct sf_arena *req, struct sf_tree *out,
                                struct sf_why *why);
