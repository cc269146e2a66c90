/* tree_lines.h - what each line of a function cost. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

struct sf_line_cost {
    sf_str function, file; /* file: empty, not known */
    uint32_t line;         /* 0: not known */
    int64_t self;
    int64_t total; /* with everything called from it; a recursive call counts once */
};

/* Lines of the functions of that whole name; where there is none, of those that have it as a word
 * (RegexMatch in regexp.(*Regexp).RegexMatch). Sorted by file, function and line. In `req`; strings
 * are borrowed from the tree. LIMIT: it is full. */
enum sf_err sf_tree_lines(const struct sf_tree *t, sf_str function, struct sf_arena *req,
                          const struct sf_line_cost **out, uint32_t *out_n, struct sf_why *why);
/* The line that has most of a function (its whole name) by itself; line 0: none is known. */
struct sf_line_cost sf_tree_lines_hottest(const struct sf_tree *t, sf_str function);
