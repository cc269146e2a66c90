/* flame_svg.h - a flame graph as one SVG file: it can be viewed without scripts; with scripts, a
 * click zooms, '/' searches by regular expression and Escape goes back. It loads nothing from
 * elsewhere.
 *
 * Names are not trusted: control characters, bidirectional overrides and invalid UTF-8 are
 * replaced, the rest is escaped; no name is part of the script. */
#pragma once
#include "base/err.h"
#include "flame/tree_diff.h"
#include "model/answer/profile_view.h"

/* The tree must be grouped, so that frames have names. Bars narrower than a tenth of a pixel are
 * left out, with their children. INPUT: negative values, which cannot be drawn. */
enum sf_err sf_flame_svg_render(const struct sf_profile_view *v, struct sf_arena scratch,
                                struct sf_buf *out, struct sf_why *why);

/* Draws a comparison: bars have the widths of the right profile, red where it has more than the
 * left and blue where it has less. Frames that only the left has are not drawn; the head has the
 * sums of both. `v` is the right one: its names and its unit. */
enum sf_err sf_flame_svg_diff(const struct sf_profile_view *v, const struct sf_tree_diff *d,
                              enum sf_diff_measure measure, struct sf_arena scratch,
                              struct sf_buf *out, struct sf_why *why);
