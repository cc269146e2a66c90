/* hot_code.h - finds the few functions in which time was spent, as a person would name them.
 *
 * A flame graph has many leaves; an answer has space for three names. Time in library code is
 * charged to the nearest frame of the service above it (flame/library_frame.h). Then the tree is
 * opened from its root: a function is named if most of its time is its own, if it is recursive
 * (library code, and code without names, which has one frame for a whole file, never count as
 * recursive), or if its time is spread over so many callees that a few of them do not have most of
 * it; otherwise its callees are examined. Equal functions in several places are merged. Pure
 * functions. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

struct sf_hot_code { /* for one set of stacks, independent of values */
    const struct sf_tree *stacks;
    struct sf_tree by_function; /* the same stacks without lines */
    const uint32_t *of;         /* by node of the stacks: its node in by_function */
    const uint32_t *owners; /* by node of the stacks: the node to which its own time is charged */
    const bool *is_library; /* by frame of by_function */
    const bool *is_unnamed; /* by frame of by_function: it stands for a file without symbols */
};

struct sf_hot_piece {
    /* Library: where most of its time was spent, "SQLite"; empty: in itself. */
    sf_str function, caller, library;
    sf_str path; /* the callers, outermost first: "handle > findBoxes" */
    sf_str file; /* of the line that cost most; empty: not known */
    uint32_t line;
    double value, library_value;
    uint32_t node;  /* the largest node of by_function */
    bool is_spread; /* named because it has many small callees */
};

/* In `req`; `stacks` must stay valid. LIMIT: it is full. */
enum sf_err sf_hot_code_init(struct sf_hot_code *h, const struct sf_tree *stacks,
                             struct sf_arena *req, struct sf_why *why);
struct sf_hot_pieces {
    struct sf_hot_piece *list; /* largest first */
    uint32_t n, n_more;        /* listed; left out */
    const uint32_t *of;        /* by node of the stacks: its piece, or SF_NONE */
    double rest;               /* value without a piece */
};

/* Finds the largest pieces of `values` (own value by node of the stacks), at most `cap`. In `req`.
 * LIMIT: it is full. */
enum sf_err sf_hot_code_find(const struct sf_hot_code *h, const double *values, uint32_t cap,
                             struct sf_arena *req, struct sf_hot_pieces *out, struct sf_why *why);
