/* diff_text.h - what became slower and what became faster, absolute and relative. */
#pragma once
#include "base/err.h"
#include "flame/tree_diff.h"
#include "flame/tree_order.h"
#include "model/answer/profile_view.h"

struct sf_diff_text {
    const struct sf_profile_view *left, *right; /* names and types; trees are in `diff` */
    const struct sf_tree_diff *diff;
    enum sf_diff_measure measure; /* what rows are ranked by */
    size_t columns;
    uint32_t limit;
    double min_share; /* for the tree */
    bool has_color;
};

/* True if the profiles cover times of different length, so that their sums are not comparable. */
bool sf_diff_text_lengths_differ(const struct sf_profile_view *left,
                                 const struct sf_profile_view *right);
/* Functions by change of self value: before, after, difference, ratio, share of each side. */
enum sf_err sf_diff_text_table(const struct sf_diff_text *d, struct sf_arena scratch,
                               struct sf_buf *out, struct sf_why *why);
/* The merged tree with totals of both sides. */
enum sf_err sf_diff_text_tree(const struct sf_diff_text *d, struct sf_arena scratch,
                              struct sf_buf *out, struct sf_why *why);
