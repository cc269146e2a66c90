/* time_tree.h - one tree of all the time: code that ran, and waits as frames on the code that
 * waited.
 *
 * A wait is a frame of its own kind (SF_FRAME_WAIT_LOCK) below the stack that waited, so that the
 * graph sums up to the time and not to the samples. Time without a known stack is a frame directly
 * below the bar. */
#pragma once
#include "flame/tree_builder.h"
#include "link/ledger.h"

struct sf_time_tree {
    struct sf_tree_builder b;
    const struct sf_tree *stacks;
    uint32_t *frames; /* by frame of the stacks: its number here, or SF_NONE */
    uint32_t *path;   /* scratch: nodes from the root down */
};

/* In `req`; strings are borrowed, the stacks must stay valid. False: it is full. */
bool sf_time_tree_init(struct sf_time_tree *t, const struct sf_tree *stacks, struct sf_arena *req);
void sf_time_tree_done(struct sf_time_tree *t); /* a zeroed one is fine */
/* The bar of a service or a span below `parent` (0: the root). */
uint32_t sf_time_tree_bar(struct sf_time_tree *t, uint32_t parent, sf_str name, uint8_t kind);
/* Adds time of a part below a bar, in the code of `stack` (0: unknown). */
void sf_time_tree_add(struct sf_time_tree *t, uint32_t bar, enum sf_ledger_part part,
                      uint32_t stack, int64_t ns);
enum sf_err sf_time_tree_take(struct sf_time_tree *t, struct sf_tree *out, struct sf_why *why);
