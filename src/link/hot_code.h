/* hot_code.h - the few functions in which time was spent, as a person would name them.
 *
 * A flame graph has one leaf for every way to spend time; an answer has space for three names. Time
 * of library code is charged to the nearest frame of the service above it (flame/library_frame.h).
 * Then the tree is opened from its root: a function is named when most of its time is its own, when
 * it calls itself again (recursion is one thing; library code and code without names, which has one
 * frame for a whole file, are never taken for it), or when its time is spread over so many callees
 * that no few of them have most of it; otherwise its callees are examined. Equal functions in
 * several places are one. Pure. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

struct sf_hot_code { /* of one set of stacks, whatever the values are */
    const struct sf_tree *stacks;
    struct sf_tree by_function; /* the same without lines */
    const uint32_t *of;         /* by node of the stacks: its node there */
    const uint32_t *owners;     /* by node of the stacks: whose time its own is */
    const bool *is_library;     /* by frame of by_function */
    const bool *is_unnamed;     /* by frame of by_function: it represents a file without symbols */
};

struct sf_hot_piece {
    sf_str function, caller, library; /* library: what most of it was in, "SQLite"; empty: itself */
    sf_str path;                      /* the callers, outermost first: "handle > findBoxes" */
    sf_str file;                      /* of the line that cost most; empty: not known */
    uint32_t line;
    double value, library_value;
    uint32_t node;  /* of by_function: the largest place */
    bool is_spread; /* named because its callees are many and small */
};

/* In `req`; `stacks` must stay. LIMIT: it is full. */
enum sf_err sf_hot_code_init(struct sf_hot_code *h, const struct sf_tree *stacks,
                             struct sf_arena *req, struct sf_why *why);
struct sf_hot_pieces {
    struct sf_hot_piece *list; /* largest first */
    uint32_t n, n_more;        /* listed; left out */
    const uint32_t *of;        /* by node of the stacks: its piece, or SF_NONE */
    double rest;               /* what has none */
};

/* The largest pieces of `values` (by node of the stacks, what each spent by itself), at most `cap`.
 * In `req`. LIMIT: it is full. */
enum sf_err sf_hot_code_find(const struct sf_hot_code *h, const double *values, uint32_t cap,
                             struct sf_arena *req, struct sf_hot_pieces *out, struct sf_why *why);
