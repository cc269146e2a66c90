/* leaf_state.h - derives what a thread was doing from the innermost frames of its stack.
 *
 * Wall-clock profiles of most runtimes tell where a thread was, not why. The names of the innermost
 * frames tell: a futex below a mutex is a lock, epoll is the network, a collector's frame is GC.
 * leaf_table.c has the names. A stack whose innermost frames match none of them was running. */
#pragma once
#include "base/arena.h"
#include "model/tree.h"

enum sf_leaf_match { SF_LEAF_IS, SF_LEAF_BEGINS, SF_LEAF_HAS };

enum sf_leaf_weight {
    SF_LEAF_MEANS,   /* the frame is what the thread waits for: a mutex, a socket, a sleep */
    SF_LEAF_CARRIES, /* how runtimes wait for anything: a caller within reach tells for what */
    SF_LEAF_GLUE     /* tells nothing; examine the next frame */
};

struct sf_leaf_rule {
    uint32_t kinds; /* 1 << enum sf_frame_kind of frames it applies to; for frames of unknown kind
                       every rule is tried */
    enum sf_leaf_match match;
    const char *text;
    enum sf_sample_state state;
    enum sf_leaf_weight weight;
    const char *example; /* a frame as profilers write it; used by the tests of each rule */
};

extern const struct sf_leaf_rule sf_leaf_rules[];
extern const uint32_t sf_leaf_n_rules;

/* The first rule that matches the frame; NULL: none. */
const struct sf_leaf_rule *sf_leaf_state_rule_of(const struct sf_frame *frame);

/* The state that each node's stack shows, in `req`; NULL: no memory. SF_STATE_RUNNING if no name
 * tells otherwise, SF_STATE_UNKNOWN for the root. */
const uint8_t *sf_leaf_states(const struct sf_tree *tree, struct sf_arena *req);
