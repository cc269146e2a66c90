/* flame_svg.h - a flame graph as one SVG file: it shows without scripts, and where they run, a
 * click zooms, '/' searches by regular expression and Escape goes back. Nothing is loaded from
 * anywhere.
 *
 * Names come from strangers: control characters, bidirectional overrides and what is no UTF-8 are
 * replaced, the rest is escaped; no name is part of the script. */
#pragma once
#include "base/err.h"
#include "flame/tree_diff.h"
#include "model/answer/profile_view.h"

/* The tree is grouped: frames have names. Bars thinner than a tenth of a pixel are left out, with
 * what is under them. INPUT: negative values, which have no width. */
enum sf_err sf_flame_svg_render(const struct sf_profile_view *v, struct sf_arena scratch,
                                struct sf_buf *out, struct sf_why *why);

/* Two profiles as one: bars are as wide as the right one's, red where it has more than the left and
 * blue where it has less. What only the left has is not drawn; the head has the sums of both.
 * `v` is of the right: its names and its unit. */
enum sf_err sf_flame_svg_diff(const struct sf_profile_view *v, const struct sf_tree_diff *d,
                              enum sf_diff_measure measure, struct sf_arena scratch,
                              struct sf_buf *out, struct sf_why *why);
