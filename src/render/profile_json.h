/* profile_json.h - a profile in the JSON of our own API (docs/api.md), and in Pyroscope's. */
#pragma once
#include "base/err.h"
#include "flame/flamebearer.h"
#include "model/answer/profile_view.h"
#include "wire/json_write.h"

/* Frames once, nodes as [parent, frame, self], parents first; node 0 is the root, its frame -1. */
enum sf_err sf_profile_json_render(const struct sf_profile_view *v, struct sf_buf *out,
                                   struct sf_why *why);
/* The same as part of a larger answer; the writer's buffer keeps errors. */
void sf_profile_json_write(const struct sf_profile_view *v, struct sf_json_writer *w);
/* The same with both sides: nodes are [parent, frame, self before, self after]. */
enum sf_err sf_profile_json_diff(const struct sf_profile_view *left,
                                 const struct sf_profile_view *right, const struct sf_tree_diff *d,
                                 struct sf_buf *out, struct sf_why *why);

/* The body of /pyroscope/render and render-diff. `extra` are JSON members to add ("timeline":...),
 * without braces; if empty, null is written for them. */
enum sf_err sf_profile_json_pyroscope(const struct sf_flamebearer *f, bool is_double,
                                      const struct sf_profile_type *type, sf_str extra,
                                      struct sf_buf *out, struct sf_why *why);
