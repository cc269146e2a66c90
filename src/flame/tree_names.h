/* tree_names.h - sets the names of frames that have none.
 *
 * One frame may become several, if calls were inlined at its address. Frames that become equal are
 * merged, and so are their nodes. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/namer.h"
#include "model/tree.h"

/* Whether it has no name but a build id by which one can be found. */
static inline bool sf_frame_is_unnamed(const struct sf_frame *f)
{
    return f->function.len == 0 && f->build_id.len > 0 && f->file_off > 0;
}

/* `named` has an entry for each frame of `t`, zeroed for those that do not change; its strings must
 * outlive `out`, which is in `req`. `out_nodes`, NULL or with space for the nodes of `t`, gets the
 * index of each in `out`. Fails with NOMEM or LIMIT. */
enum sf_err sf_tree_names_give(const struct sf_tree *t, const struct sf_named *named,
                               struct sf_arena *req, struct sf_tree *out, uint32_t *out_nodes,
                               struct sf_why *why);
