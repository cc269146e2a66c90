/* tree_lines.h - the cost of each line of a function. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

struct sf_line_cost {
    sf_str function, file; /* file: empty if unknown */
    uint32_t line;         /* 0: not known */
    int64_t self;
    int64_t total; /* including callees; a recursive call counts once */
};

/* Lines of the functions with exactly that name; if there is none, of those that contain it as a
 * word (RegexMatch in regexp.(*Regexp).RegexMatch). Sorted by file, function and line. In `req`;
 * strings are borrowed from the tree. LIMIT: it is full. */
enum sf_err sf_tree_lines(const struct sf_tree *t, sf_str function, struct sf_arena *req,
                          const struct sf_line_cost **out, uint32_t *out_n, struct sf_why *why);
/* The line with the largest self value of a function (exact name); line 0: unknown. */
struct sf_line_cost sf_tree_lines_hottest(const struct sf_tree *t, sf_str function);
