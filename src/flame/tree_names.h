/* tree_names.h - a tree whose frames without names are given some.
 *
 * One frame may become several: calls that were inlined at its address. Frames that become equal
 * are one, and so are the nodes that represent them. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/namer.h"
#include "model/tree.h"

/* Is it one that a build id could give a name to? */
static inline bool sf_frame_is_unnamed(const struct sf_frame *f)
{
    return f->function.len == 0 && f->build_id.len > 0 && f->file_off > 0;
}

/* `named` has an entry for each frame of `t`, zeroed for those that stay as they are; its strings
 * outlive `out`, which lives in `req`. `out_nodes`, NULL or with space for the nodes of `t`, gets
 * the place of each in `out`. Fails with NOMEM or LIMIT. */
enum sf_err sf_tree_names_give(const struct sf_tree *t, const struct sf_named *named,
                               struct sf_arena *req, struct sf_tree *out, uint32_t *out_nodes,
                               struct sf_why *why);
