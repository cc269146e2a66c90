/* flame_text.h - a flame graph drawn with text.
 *
 *   calculateTotals()                          [================== 100% ==================]
 *     validateLineItems()                      [====== 35% ======]
 *       regex.match(pricePattern)              [=== 15% ===]     <-- HOT PATH
 *
 * One line for each frame, callees indented below their caller. Bars and percentages are shares of
 * the whole view, on one linear scale with which the longest line fits the terminal. At most five
 * frames are marked: those with a self share of at least 10 % of the view, largest first; their
 * most expensive lines are listed below, if known. docs/flame-graph.md explains it to users. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "flame/tree_order.h"

struct sf_flame_text {
    const struct sf_tree *tree; /* grouped: frames have names */
    const struct sf_tree
        *lines; /* the same with lines: marked frames are listed with their lines; or NULL */
    enum sf_tree_by order;
    size_t columns;   /* of the terminal; at least 40 are used */
    double min_share; /* frames below this share of the view are not drawn; 0.01 is 1 % */
    bool has_color;
    bool has_no_marks; /* too few samples to call a path hot */
    bool is_estimate;  /* all shares are estimates: says so */
};

struct sf_flame_text_rest { /* frames that were not drawn */
    uint32_t n_hidden;
};

/* An empty tree draws nothing. LIMIT: the arena is too small. */
enum sf_err sf_flame_text_render(const struct sf_flame_text *f, struct sf_arena scratch,
                                 struct sf_buf *out, struct sf_flame_text_rest *out_rest,
                                 struct sf_why *why);
