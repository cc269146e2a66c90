#include "flame/tree_lines.h"

#include <stdlib.h>

#include "base/num.h"
#include "flame/tree_order.h"

static bool tree_lines_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool tree_lines_has_word(sf_str name, sf_str word)
{
    size_t at, from = 0;
    while (word.len > 0 && sf_str_find(sf_str_from_at(name, from), word, &at)) {
        size_t start = from + at, end = start + word.len;
        if ((start == 0 || !tree_lines_is_letter(name.p[start - 1])) &&
            (end == name.len || !tree_lines_is_letter(name.p[end])))
            return true;
        from = start + 1;
    }
    return false;
}

static uint32_t tree_lines_choose(const struct sf_tree *t, sf_str function, bool *is_chosen)
{
    uint32_t n = 0;
    for (int turn = 0; turn < 2 && n == 0; turn++) {
        for (uint32_t i = 0; i < t->n_frames; i++) {
            sf_str name = t->frames[i].function;
            is_chosen[i] = turn == 0 ? sf_str_eq(name, function)
                                     : tree_lines_has_word(name, function);
            n += is_chosen[i];
        }
    }
    return n;
}

static int tree_lines_by_place(const void *a, const void *b)
{
    const struct sf_line_cost *x = a, *y = b;
    int order = sf_str_cmp(x->file, y->file);
    if (order == 0)
        order = sf_str_cmp(x->function, y->function);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

enum sf_err sf_tree_lines(const struct sf_tree *t, sf_str function, struct sf_arena *req,
                          const struct sf_line_cost **out, uint32_t *out_n, struct sf_why *why)
{
    bool *is_chosen = sf_arena_new_n(req, t->n_frames + 1u, sizeof(*is_chosen));
    struct sf_line_cost *rows = sf_arena_new_n(req, t->n_frames + 1u, sizeof(*rows));
    int64_t *totals;
    uint32_t n = 0;
    enum sf_err err = is_chosen && rows ? sf_tree_order_totals(t, req, &totals, why)
                                        : sf_no_room(why, "the lines");
    if (err)
        return err;
    tree_lines_choose(t, function, is_chosen);
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t frame = t->nodes[i].frame, up = t->nodes[i].parent;
        if (!is_chosen[frame])
            continue;
        rows[frame].self = sf_add_sat_i64(rows[frame].self, t->nodes[i].self);
        while (up != 0 && t->nodes[up].frame != frame)
            up = t->nodes[up].parent;
        if (up == 0) /* not nested in another call from the same line */
            rows[frame].total = sf_add_sat_i64(rows[frame].total, totals[i]);
    }
    for (uint32_t i = 0; i < t->n_frames; i++) {
        const struct sf_frame *f = &t->frames[i];
        if (!is_chosen[i] || (rows[i].self == 0 && rows[i].total == 0))
            continue;
        rows[n++] = (struct sf_line_cost){f->function, f->file, f->line, rows[i].self,
                                          rows[i].total};
    }
    if (n > 0)
        qsort(rows, n, sizeof(*rows), tree_lines_by_place);
    *out = rows;
    *out_n = n;
    return SF_OK;
}

struct sf_line_cost sf_tree_lines_hottest(const struct sf_tree *t, sf_str function)
{
    struct sf_line_cost best = {0};
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        const struct sf_frame *f = &t->frames[t->nodes[i].frame];
        if (t->nodes[i].self > best.self && f->line && sf_str_eq(f->function, function))
            best = (struct sf_line_cost){f->function, f->file, f->line, t->nodes[i].self,
                                         t->nodes[i].self};
    }
    return best;
}
