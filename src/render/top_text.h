/* top_text.h - the most expensive functions, as a table or as a tree with "↳", for a terminal or a
 * ticket. */
#pragma once
#include "base/err.h"
#include "flame/tree_order.h"
#include "flame/tree_top.h"
#include "model/answer/profile_view.h"

struct sf_top_text {
    const struct sf_profile_view *view; /* tree grouped: frames have names */
    size_t columns;
    uint32_t limit;   /* rows of the table */
    double min_share; /* of the tree: smaller frames are not shown */
    enum sf_top_by by;
    enum sf_tree_by order;
    bool has_color;
};

/* Writes what percentages refer to: "percentages are of 12.3 s cpu (1.2 k samples) in
 * order-service". */
void sf_top_text_base(const struct sf_profile_view *v, struct sf_buf *out);
enum sf_err sf_top_text_table(const struct sf_top_text *t, struct sf_arena scratch,
                              struct sf_buf *out, struct sf_why *why);
enum sf_err sf_top_text_tree(const struct sf_top_text *t, struct sf_arena scratch,
                             struct sf_buf *out, struct sf_why *why);
