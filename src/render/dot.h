/* dot.h - a profile as a graph of calls, for Graphviz: a box for each function, an arrow for each
 * pair of functions that called each other. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/answer/profile_view.h"

/* For a tree grouped by function; shows the `max_nodes` functions with the largest totals. A
 * function counts once per stack. Writes nothing without values. */
enum sf_err sf_dot_render(const struct sf_profile_view *v, uint32_t max_nodes,
                          struct sf_arena scratch, struct sf_buf *out, struct sf_why *why);
