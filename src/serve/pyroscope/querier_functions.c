#include "serve/pyroscope/querier_functions.h"

#include <stdlib.h>

#include "flame/frame_name.h"
#include "flame/tree_top.h"

/* The messages have no field for this yet: it is requested by name and answered in JSON. */
enum { FIELD = 100 };

struct row {
    sf_str name;
    int64_t self[2], total[2]; /* of the two sides of a comparison, or in [0] only */
};

enum sf_err sf_querier_functions_check(const struct sf_querier_ask *ask, struct sf_why *why)
{
    if (ask->has_options && ask->max_nodes)
        return sf_fail(why, SF_ERR_INPUT,
                       "max_nodes cannot be combined with a table of functions: use "
                       "format_options.functions.limit");
    if (ask->max_rows < 0)
        return sf_fail(why, SF_ERR_INPUT, "format_options.functions.limit must not be negative");
    return SF_OK;
}

/* ---- rows ---- */

static enum sf_err list_rows(struct sf_querier_work *x, const struct sf_tree *tree, size_t side,
                             struct row *out, uint32_t *n)
{
    const struct sf_top_row *rows;
    uint32_t n_rows;
    enum sf_err err = sf_tree_top(tree, SF_TOP_BY_SELF, x->req, &rows, &n_rows, &x->why);
    for (uint32_t i = 0; !err && i < n_rows; i++) {
        struct row *r = &out[(*n)++];
        *r = (struct row){0};
        if (!sf_frame_name(&tree->frames[rows[i].frame], SF_GROUP_FUNCTION, x->req, &r->name))
            err = sf_no_room(&x->why, "the answer");
        r->self[side] = rows[i].self;
        r->total[side] = rows[i].total;
    }
    return err;
}

static int querier_functions_by_name(const void *a, const void *b)
{
    return sf_str_cmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static int64_t larger(const int64_t v[2])
{
    return v[0] > v[1] ? v[0] : v[1];
}

static int by_cost(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int64_t self_x = larger(x->self), self_y = larger(y->self);
    int64_t total_x = larger(x->total), total_y = larger(y->total);
    if (self_x != self_y)
        return self_x > self_y ? -1 : 1;
    if (total_x != total_y)
        return total_x > total_y ? -1 : 1;
    return sf_str_cmp(x->name, y->name);
}

/* Merges rows with the same name and sorts them for a table. */
static uint32_t querier_functions_settle(struct row *rows, uint32_t n)
{
    uint32_t n_out = 0;
    if (n)
        qsort(rows, n, sizeof(*rows), querier_functions_by_name);
    for (uint32_t i = 0; i < n; i++) {
        struct row *last = n_out ? &rows[n_out - 1] : NULL;
        if (!last || !sf_str_eq(last->name, rows[i].name)) {
            rows[n_out++] = rows[i];
            continue;
        }
        for (size_t k = 0; k < 2; k++) {
            last->self[k] += rows[i].self[k];
            last->total[k] += rows[i].total[k];
        }
    }
    if (n_out)
        qsort(rows, n_out, sizeof(*rows), by_cost);
    return n_out;
}

static uint32_t shown_of(const struct sf_querier_ask *ask, uint32_t n)
{
    int64_t most = ask->has_options ? ask->max_rows : ask->max_nodes;
    return most > 0 && most < n ? (uint32_t)most : n;
}

/* ---- writing ---- */

static void write_table(struct sf_message *m, const struct row *rows, uint32_t n, uint32_t n_all,
                        size_t side, int64_t total)
{
    sf_message_list(m, "functions");
    for (uint32_t i = 0; i < n; i++) {
        size_t mark = sf_message_item(m, FIELD);
        sf_message_str(m, FIELD, "name", rows[i].name);
        sf_message_i64(m, FIELD, "total", rows[i].total[side]);
        sf_message_i64(m, FIELD, "self", rows[i].self[side]);
        sf_message_end(m, mark);
    }
    sf_message_list_end(m);
    sf_message_i64(m, FIELD, "total", total);
    sf_message_i64(m, FIELD, "totalFunctions", n_all);
}

enum sf_err sf_querier_functions_write(struct sf_querier_work *x, const struct sf_tree *tree)
{
    struct row *rows = sf_arena_new_n(x->req, (size_t)tree->n_frames + 1, sizeof(*rows));
    uint32_t n = 0;
    size_t mark;
    enum sf_err err = rows ? list_rows(x, tree, 0, rows, &n) : sf_no_room(&x->why, "the answer");
    if (err)
        return err;
    n = querier_functions_settle(rows, n);
    mark = sf_message_begin(&x->m, FIELD, "functions");
    write_table(&x->m, rows, shown_of(x->ask, n), n, 0, tree->total);
    sf_message_end(&x->m, mark);
    return SF_OK;
}

static void write_both(struct sf_message *m, const struct row *rows, uint32_t n,
                       const struct sf_tree trees[2])
{
    sf_message_list(m, "functions");
    for (uint32_t i = 0; i < n; i++) {
        size_t mark = sf_message_item(m, FIELD);
        sf_message_str(m, FIELD, "name", rows[i].name);
        sf_message_i64(m, FIELD, "leftSelf", rows[i].self[0]);
        sf_message_i64(m, FIELD, "leftTotal", rows[i].total[0]);
        sf_message_i64(m, FIELD, "rightSelf", rows[i].self[1]);
        sf_message_i64(m, FIELD, "rightTotal", rows[i].total[1]);
        sf_message_end(m, mark);
    }
    sf_message_list_end(m);
    sf_message_i64(m, FIELD, "leftTotal", trees[0].total);
    sf_message_i64(m, FIELD, "rightTotal", trees[1].total);
}

enum sf_err sf_querier_functions_write_diff(struct sf_querier_work *x,
                                            const struct sf_querier_ask *ask,
                                            const struct sf_tree trees[2], bool is_apart)
{
    static const char *const sides[] = {"left", "right"};
    struct row *rows = sf_arena_new_n(x->req, (size_t)trees[0].n_frames + trees[1].n_frames + 1,
                                      sizeof(*rows));
    uint32_t n = 0, n_shown;
    size_t mark;
    enum sf_err err = rows ? SF_OK : sf_no_room(&x->why, "the answer");
    for (size_t i = 0; !err && i < 2; i++)
        err = list_rows(x, &trees[i], i, rows, &n);
    if (err)
        return err;
    n = querier_functions_settle(rows, n);
    n_shown = shown_of(ask, n);
    mark = sf_message_begin(&x->m, FIELD, "functions");
    for (size_t i = 0; is_apart && i < 2; i++) {
        size_t side = sf_message_begin(&x->m, FIELD, sides[i]);
        write_table(&x->m, rows, n_shown, n, i, trees[i].total);
        sf_message_end(&x->m, side);
    }
    if (!is_apart)
        write_both(&x->m, rows, n_shown, trees);
    sf_message_end(&x->m, mark);
    return SF_OK;
}
