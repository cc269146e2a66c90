#include "render/dot.h"

#include <stdlib.h>

#include "base/num.h"
#include "flame/tree_order.h"
#include "flame/tree_top.h"
#include "render/known.h"
#include "render/units.h"

struct edge {
    uint32_t from, to; /* frames */
    int64_t value;
};

static int by_ends(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* Escapes quotes and backslashes; control characters become blanks. */
static void dot_add_text(struct sf_buf *out, sf_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = (uint8_t)text.p[i];
        if (c == '"' || c == '\\')
            sf_buf_add_u8(out, '\\');
        sf_buf_add_u8(out, c < 0x20 ? ' ' : c);
    }
}

static double percent(int64_t part, int64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void add_boxes(const struct sf_profile_view *v, const struct sf_top_row *rows, uint32_t n,
                      struct sf_buf *out)
{
    const char *mark = v->is_estimate ? SF_ESTIMATE_MARK : "";
    for (uint32_t i = 0; i < n; i++) {
        sf_buf_print(out, "N%u [label=\"", rows[i].frame + 1);
        dot_add_text(out, v->tree.frames[rows[i].frame].function);
        sf_buf_add_str(out, SF_STR("\\n"));
        sf_known_amount(out, v, rows[i].self);
        sf_buf_print(out, " (%s%.2f%%)\\nof ", mark, percent(rows[i].self, v->tree.total));
        sf_known_amount(out, v, rows[i].total);
        sf_buf_print(out, " (%s%.2f%%)\" shape=box]\n", mark,
                     percent(rows[i].total, v->tree.total));
    }
}

/* The caller of a node is its nearest ancestor that is shown, so that hidden functions do not
 * interrupt the graph. */
static uint32_t find_edges(const struct sf_tree *t, const int64_t *totals, const bool *is_shown,
                           uint32_t *above, struct edge *edges)
{
    uint32_t n = 0, n_out = 0;
    above[0] = SF_NONE;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t caller = above[t->nodes[i].parent], frame = t->nodes[i].frame;
        above[i] = is_shown[frame] ? frame : caller;
        if (is_shown[frame] && caller != SF_NONE && caller != frame)
            edges[n++] = (struct edge){caller, frame, totals[i]};
    }
    if (n)
        qsort(edges, n, sizeof(*edges), by_ends);
    for (uint32_t i = 0; i < n; i++) {
        if (n_out && by_ends(&edges[n_out - 1], &edges[i]) == 0)
            edges[n_out - 1].value = sf_add_sat_i64(edges[n_out - 1].value, edges[i].value);
        else
            edges[n_out++] = edges[i];
    }
    return n_out;
}

enum sf_err sf_dot_render(const struct sf_profile_view *v, uint32_t max_nodes,
                          struct sf_arena scratch, struct sf_buf *out, struct sf_why *why)
{
    const struct sf_tree *t = &v->tree;
    const struct sf_top_row *rows;
    bool *is_shown = sf_arena_new_n(&scratch, (size_t)t->n_frames + 1, sizeof(*is_shown));
    uint32_t *above = sf_arena_new_n(&scratch, t->n_nodes, sizeof(*above)), n = 0, n_all, n_edges;
    struct edge *edges = sf_arena_new_n(&scratch, t->n_nodes, sizeof(*edges));
    int64_t *totals;
    enum sf_err err;
    if (t->n_nodes <= 1)
        return SF_OK;
    if (!is_shown || !above || !edges)
        return sf_no_room(why, "the answer");
    err = sf_tree_top(t, SF_TOP_BY_TOTAL, &scratch, &rows, &n, why);
    if (!err)
        err = sf_tree_order_totals(t, &scratch, &totals, why);
    if (err)
        return err;
    n_all = n;
    if (n > max_nodes)
        n = max_nodes;
    for (uint32_t i = 0; i < n; i++)
        is_shown[rows[i].frame] = true;
    sf_buf_add_str(out, SF_STR("digraph \""));
    dot_add_text(out, v->service.len ? v->service : SF_STR("profile"));
    sf_buf_add_str(out, SF_STR("\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n"));
    if (n < n_all)
        sf_buf_print(out, "label=\"%u of %u functions\"\n", n, n_all);
    add_boxes(v, rows, n, out);
    n_edges = find_edges(t, totals, is_shown, above, edges);
    for (uint32_t i = 0; i < n_edges; i++) {
        sf_buf_print(out, "N%u -> N%u [label=\" ", edges[i].from + 1, edges[i].to + 1);
        sf_known_amount(out, v, edges[i].value);
        sf_buf_add_str(out, SF_STR("\"]\n"));
    }
    sf_buf_add_str(out, SF_STR("}\n"));
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "graph: no memory");
}
