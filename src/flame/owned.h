/* owned.h - which part of a tree's nodes is known to be of a span, while the tree changes. */
#pragma once
#include "model/answer/profile_view.h"

struct sf_owned {
    struct sf_profile_owned *list; /* by node and ids, each pair once */
    uint32_t n;
};

/* Puts `n` of them, in any order, together. */
void sf_owned_merge(struct sf_owned *o, uint32_t n);
/* Where nodes went: nodes[i] of node i, SF_NONE: what is left out. */
void sf_owned_move(struct sf_owned *o, const uint32_t *nodes);
/* No more of a node than it has: what is above that goes. */
void sf_owned_fit(struct sf_owned *o, const struct sf_tree *tree);
