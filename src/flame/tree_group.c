#include "flame/tree_group.h"

#include "base/heap.h"
#include "flame/tree_map.h"

static bool make_frames(const struct sf_tree *t, enum sf_frame_group by, struct sf_tree_map *m,
                        uint32_t *frames)
{
    for (uint32_t i = 0; i < t->n_frames; i++) {
        const struct sf_frame *old = &t->frames[i];
        struct sf_frame f = {0};
        bool is_marker = old->kind >= SF_FRAME_MARKER; /* "other", a span: in no package */
        if (!sf_frame_name(old, is_marker ? SF_GROUP_FUNCTION : by, m->to.req, &f.function))
            return false;
        if (by == SF_GROUP_FUNCTION || by == SF_GROUP_LINE || is_marker)
            f.kind = old->kind;
        if (by == SF_GROUP_LINE) {
            f.file = old->file;
            f.line = old->line;
        }
        frames[i] = sf_tree_builder_frame(&m->to, &f);
    }
    return true;
}

enum sf_err sf_tree_group(const struct sf_tree *t, struct sf_tree_grouping how,
                          struct sf_arena *req, struct sf_tree *out, struct sf_why *why)
{
    return sf_tree_group_owned(t, how, NULL, req, out, why);
}

enum sf_err sf_tree_group_owned(const struct sf_tree *t, struct sf_tree_grouping how,
                                struct sf_owned *owned, struct sf_arena *req, struct sf_tree *out,
                                struct sf_why *why)
{
    bool collapses = how.is_collapsed || (how.by != SF_GROUP_FUNCTION && how.by != SF_GROUP_LINE);
    uint32_t *frames = sf_heap_new_n((size_t)t->n_frames + 1, sizeof(*frames));
    struct sf_tree_map m = {0};
    enum sf_err err = sf_tree_map_init(&m, t, req, why);
    if (!err && !frames)
        err = sf_fail(why, SF_ERR_NOMEM, "flame graph: no memory");
    if (!err && !make_frames(t, how.by, &m, frames))
        err = sf_fail(why, SF_ERR_LIMIT, "flame graph: %u names do not fit the memory of one query",
                      t->n_frames);
    for (uint32_t i = 1; !err && i < t->n_nodes; i++) {
        uint32_t parent = m.nodes[t->nodes[i].parent], frame = frames[t->nodes[i].frame];
        bool is_same = collapses && parent != SF_NONE && parent != 0 &&
                       m.to.nodes[parent].frame == frame;
        m.nodes[i] = is_same ? parent : sf_tree_builder_child(&m.to, parent, frame);
    }
    m.owned = owned;
    if (!err)
        err = sf_tree_map_take(&m, out, why);
    sf_tree_map_done(&m);
    sf_heap_free(frames);
    return err;
}
