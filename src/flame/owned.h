/* owned.h - the parts of a tree's nodes that belong to spans, kept consistent while the tree
 * changes. */
#pragma once
#include "model/answer/profile_view.h"

struct sf_owned {
    struct sf_profile_owned *list; /* sorted by node and ids, each pair once */
    uint32_t n;
};

/* Merges `n` entries, which may be in any order. */
void sf_owned_merge(struct sf_owned *o, uint32_t n);
/* Moves entries when nodes change: nodes[i] is the new node of node i; SF_NONE: removed. */
void sf_owned_move(struct sf_owned *o, const uint32_t *nodes);
/* Limits the sum of a node's entries to its value. */
void sf_owned_fit(struct sf_owned *o, const struct sf_tree *tree);
