/* time_tree.c - one tree of all the time: code and waits. */
#include "link/time_tree.h"

#include <string.h>

_Static_assert(SF_PART_SLEEP - SF_PART_GC == SF_FRAME_WAIT_SLEEP - SF_FRAME_WAIT_GC,
               "a kind of frame for each kind of wait");

bool sf_time_tree_init(struct sf_time_tree *t, const struct sf_tree *stacks, struct sf_arena *req)
{
    *t = (struct sf_time_tree){.stacks = stacks};
    t->frames = sf_arena_new_n(req, stacks->n_frames + 1u, sizeof(*t->frames));
    t->path = sf_arena_new_n(req, stacks->n_nodes + 1u, sizeof(*t->path));
    if (!t->frames || !t->path)
        return false;
    memset(t->frames, 0xff, (stacks->n_frames + 1u) * sizeof(*t->frames));
    sf_tree_builder_init(&t->b, req, 0, SF_TREE_BORROWS);
    return true;
}

void sf_time_tree_done(struct sf_time_tree *t)
{
    sf_tree_builder_done(&t->b);
}

uint32_t sf_time_tree_bar(struct sf_time_tree *t, uint32_t parent, sf_str name, uint8_t kind)
{
    struct sf_frame f = {.function = name, .kind = kind};
    return sf_tree_builder_child(&t->b, parent, sf_tree_builder_frame(&t->b, &f));
}

static uint32_t time_tree_node_of(struct sf_time_tree *t, uint32_t bar, uint32_t stack)
{
    uint32_t depth = 0, node = bar;
    for (uint32_t at = stack; at != 0; at = t->stacks->nodes[at].parent)
        t->path[depth++] = at;
    while (depth-- > 0) {
        uint32_t frame = t->stacks->nodes[t->path[depth]].frame;
        if (t->frames[frame] == SF_NONE)
            t->frames[frame] = sf_tree_builder_frame(&t->b, &t->stacks->frames[frame]);
        node = sf_tree_builder_child(&t->b, node, t->frames[frame]);
    }
    return node;
}

static uint8_t time_tree_kind_of(enum sf_ledger_part part)
{
    if (part == SF_PART_CPU)
        return SF_FRAME_RUNNING;
    if (part >= SF_PART_GC && part <= SF_PART_SLEEP)
        return (uint8_t)(SF_FRAME_WAIT_GC + (part - SF_PART_GC));
    return part == SF_PART_UNKNOWN ? SF_FRAME_UNSEEN : SF_FRAME_SPAN;
}

void sf_time_tree_add(struct sf_time_tree *t, uint32_t bar, enum sf_ledger_part part,
                      uint32_t stack, int64_t ns)
{
    if (ns <= 0)
        return;
    uint32_t node = time_tree_node_of(t, bar, stack);
    if (part != SF_PART_CPU || stack == 0)
        node = sf_time_tree_bar(t, node, sf_str_from(sf_ledger_part_words(part)),
                                time_tree_kind_of(part));
    sf_tree_builder_add(&t->b, node, ns, 0);
}

enum sf_err sf_time_tree_take(struct sf_time_tree *t, struct sf_tree *out, struct sf_why *why)
{
    return sf_tree_builder_take(&t->b, SF_STR("nanoseconds"), out, why);
}
