/* flame_text.h - a flame graph as people draw it by hand.
 *
 *   calculateTotals()                          [================== 100% ==================]
 *     validateLineItems()                      [====== 35% ======]
 *       regex.match(pricePattern)              [=== 15% ===]     <-- HOT PATH
 *
 * One line for each frame, callees indented below their caller. Bars and percentages are shares of
 * the whole view, on one linear scale that lets the longest line fit the terminal. At most five
 * frames are marked: those with at least 10 % of the view in themselves, largest first; the line of
 * each that cost most is listed below, where it is known.
 * docs/flame-graph.md explains it to users. */
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
    bool is_estimate;  /* every share is: it reports it */
};

struct sf_flame_text_rest { /* what was not drawn */
    uint32_t n_hidden;
};

/* Nothing is drawn of an empty tree. LIMIT: the arena is too small. */
enum sf_err sf_flame_text_render(const struct sf_flame_text *f, struct sf_arena scratch,
                                 struct sf_buf *out, struct sf_flame_text_rest *out_rest,
                                 struct sf_why *why);
