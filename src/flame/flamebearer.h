/* flamebearer.h - a tree in the format of Pyroscope and Grafana: level by level, bars as integers.
 *
 * A bar of one tree is four integers: offset, total, self, name. A bar of a comparison is seven:
 * offset, total and self of the left side, the same of the right side, name. Offsets are relative
 * to the end of the previous bar in the level (of that side); the self part of a node is at its
 * left, its children follow, sorted by name. Level 0 is the root, whose name is names[0], "total",
 * and whose offset is 0: Grafana reads the root's name at its offset. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "flame/tree_diff.h"

struct sf_flame_level {
    const int64_t *values;
    uint32_t n; /* integers, not bars */
};

struct sf_flamebearer {
    const sf_str *names; /* each once */
    const struct sf_flame_level *levels;
    uint32_t n_names, n_levels;
    int64_t total;                   /* of both sides together in a comparison */
    int64_t max_self;                /* over both sides */
    int64_t left_total, right_total; /* of a comparison */
};

/* For trees that are already grouped by function and cut. INPUT: a comparison with negative values,
 * which this format cannot express. In `req`; names are borrowed. */
enum sf_err sf_flamebearer_single(const struct sf_tree *t, struct sf_arena *req,
                                  struct sf_flamebearer *out, struct sf_why *why);
enum sf_err sf_flamebearer_double(const struct sf_tree_diff *d, struct sf_arena *req,
                                  struct sf_flamebearer *out, struct sf_why *why);
