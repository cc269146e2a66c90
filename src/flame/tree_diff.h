/* tree_diff.h - compares two trees node by node. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

struct sf_tree_side {
    int64_t *self, *totals; /* of each node of the common shape */
    int64_t total;
    uint64_t n_requests; /* number of spans in it; 0: unknown */
};

struct sf_tree_diff {
    struct sf_tree shape; /* union of both trees; self and total are right minus left */
    struct sf_tree_side left, right;
};

/* Nodes that only one side has are zero on the other. Both trees should be grouped the same way (by
 * function): otherwise a moved line is another frame. In `req`, strings are borrowed. */
enum sf_err sf_tree_diff(const struct sf_tree *left, const struct sf_tree *right,
                         struct sf_arena *req, struct sf_tree_diff *out, struct sf_why *why);
/* At most about max_nodes nodes, by the larger side of each; totals of both sides are kept. */
enum sf_err sf_tree_diff_cut(const struct sf_tree_diff *d, uint32_t max_nodes, struct sf_arena *req,
                             struct sf_tree_diff *out, struct sf_why *why);

struct sf_diff_change {
    double left, right; /* in the measure requested */
    double delta;       /* right - left */
    double ratio;       /* delta / left; infinite for new ones, 0 if both are 0 */
};

enum sf_diff_measure {
    SF_DIFF_VALUE,  /* in the unit of the profile */
    SF_DIFF_SHARE,  /* share of each side's total: for profiles of different length */
    SF_DIFF_REQUEST /* value per request; VALUE if the number of requests of a side is unknown */
};

struct sf_diff_change sf_tree_diff_measure(const struct sf_tree_diff *d,
                                           enum sf_diff_measure measure, int64_t left,
                                           int64_t right);

struct sf_diff_row { /* a function, summed over all callers */
    uint32_t frame;
    int64_t left_self, right_self, left_total, right_total;
};
/* Functions sorted by the change of their self value in that measure, largest first; ties by
 * name. */
enum sf_err sf_tree_diff_top(const struct sf_tree_diff *d, enum sf_diff_measure measure,
                             struct sf_arena *req, const struct sf_diff_row **out, uint32_t *out_n,
                             struct sf_why *why);
