#include "join/trace_rows.h"

#include <stdlib.h>

#include "join/span_clocks.h"
#include "link/critical_path.h"

struct layout {
    const struct sf_span *spans;
    const struct sf_span_tree *tree;
    uint32_t n_spans;
    const uint32_t *parents;
    uint32_t *children, *first_child; /* entry n_spans has the roots */
    struct sf_arena *req;
};

static int trace_rows_by_start(const void *a, const void *b, void *arg)
{
    const struct sf_span_tree *t = arg;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    uint64_t start_i = sf_span_tree_start_ns(t, i), start_j = sf_span_tree_start_ns(t, j);
    if (start_i != start_j)
        return start_i < start_j ? -1 : 1;
    return (t->spans[i].span_id > t->spans[j].span_id) -
           (t->spans[i].span_id < t->spans[j].span_id);
}

static bool sort_children(struct layout *l)
{
    uint32_t n = l->n_spans;
    uint32_t *at = sf_arena_new_n(l->req, n + 1u, sizeof(*at));
    l->children = sf_arena_new_n(l->req, n + 1u, sizeof(*l->children));
    l->first_child = sf_arena_new_n(l->req, n + 2u, sizeof(*l->first_child));
    if (!at || !l->children || !l->first_child)
        return false;
    for (uint32_t i = 0; i < n; i++)
        l->first_child[(l->parents[i] == UINT32_MAX ? n : l->parents[i]) + 1]++;
    for (uint32_t i = 0; i <= n; i++) {
        l->first_child[i + 1] += l->first_child[i];
        at[i] = l->first_child[i];
    }
    for (uint32_t i = 0; i < n; i++)
        l->children[at[l->parents[i] == UINT32_MAX ? n : l->parents[i]]++] = i;
    for (uint32_t i = 0; i <= n; i++)
        qsort_r(l->children + l->first_child[i], l->first_child[i + 1] - l->first_child[i],
                sizeof(*l->children), trace_rows_by_start, (void *)(uintptr_t)l->tree);
    return true;
}

/* Depth first without recursion: a trace may be a chain of a million spans. */
static bool trace_rows_lay_out(struct layout *l, struct sf_trace_row *rows, uint32_t *row_of)
{
    struct {
        uint32_t span, next;
    } *stack = sf_arena_new_n(l->req, (size_t)l->n_spans + 1, sizeof(*stack));
    uint32_t depth = 0, n_rows = 0;
    if (!stack)
        return false;
    stack[0].span = l->n_spans;
    stack[0].next = l->first_child[l->n_spans];
    for (;;) {
        uint32_t span = stack[depth].span;
        if (stack[depth].next < l->first_child[span + 1]) {
            uint32_t child = l->children[stack[depth].next++];
            rows[n_rows].span = &l->spans[child];
            rows[n_rows].depth = depth;
            rows[n_rows].shift_ns = l->tree->shifts_ns ? l->tree->shifts_ns[child] : 0;
            row_of[child] = n_rows++;
            depth++;
            stack[depth].span = child;
            stack[depth].next = l->first_child[child];
        } else if (depth-- == 0) {
            return true;
        }
    }
}

/* Sorts the segments of the path, which are in time order, by row. */
static bool give_segments(const struct sf_critical_path *path, uint32_t n_spans,
                          const uint32_t *row_of, struct sf_trace_row *rows, struct sf_arena *req)
{
    struct sf_trace_segment *all = sf_arena_new_n(req, path->n_segments + 1u, sizeof(*all));
    uint32_t *at = sf_arena_new_n(req, n_spans + 1u, sizeof(*at));
    uint32_t total = 0;
    if (!all || !at)
        return false;
    for (uint32_t i = 0; i < path->n_segments; i++)
        rows[row_of[path->segments[i].span]].n_segments++;
    for (uint32_t i = 0; i < n_spans; i++) {
        struct sf_trace_row *row = &rows[row_of[i]];
        at[i] = total;
        row->segments = all + total;
        total += row->n_segments;
        row->critical_ns = path->critical_ns[i];
        row->is_critical = path->is_on_path[i];
        row->is_unwaited = path->is_unwaited[i];
    }
    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct sf_path_segment *s = &path->segments[i];
        all[at[s->span]++] = (struct sf_trace_segment){s->start_ns, s->end_ns};
    }
    return true;
}

enum sf_err sf_trace_rows_make(sf_trace_id id, const struct sf_trace *trace, struct sf_arena *req,
                               struct sf_trace_rows *out, struct sf_why *why)
{
    const struct sf_span_batch *b = &trace->spans;
    struct sf_critical_path path;
    struct sf_span_tree tree;
    struct sf_clocks_view clocks;
    enum sf_err err = sf_span_clocks_make(b, req, &tree, &clocks, why);
    if (!err)
        err = sf_critical_path_find(&tree, req, &path, why);
    if (err)
        return err;
    struct layout l = {.spans = b->spans,
                       .tree = &tree,
                       .n_spans = b->n_spans,
                       .parents = path.parents,
                       .req = req};
    struct sf_trace_row *rows = sf_arena_new_n(req, b->n_spans + 1u, sizeof(*rows));
    uint32_t *row_of = sf_arena_new_n(req, b->n_spans + 1u, sizeof(*row_of));
    if (!rows || !row_of || !sort_children(&l) || !trace_rows_lay_out(&l, rows, row_of) ||
        !give_segments(&path, b->n_spans, row_of, rows, req))
        return sf_fail(why, SF_ERR_LIMIT, "trace: %u spans do not fit a query's memory",
                       b->n_spans);
    struct sf_trace_rows t = {.trace_id = id,
                              .spans = b,
                              .rows = rows,
                              .n_rows = b->n_spans,
                              .start_ns = b->n_spans ? UINT64_MAX : 0,
                              .critical_ns = path.total_ns,
                              .gap_ns = path.gap_ns,
                              .outside_ns = path.outside_ns,
                              .n_unwaited = path.n_unwaited,
                              .clocks = clocks,
                              .is_partial = trace->is_partial,
                              .is_exact = true};
    for (uint32_t i = 0; i < b->n_spans; i++) {
        uint64_t start_ns = sf_span_tree_start_ns(&tree, i), end_ns = sf_span_tree_end_ns(&tree, i);
        t.start_ns = start_ns < t.start_ns ? start_ns : t.start_ns;
        t.end_ns = end_ns > t.end_ns ? end_ns : t.end_ns;
    }
    *out = t;
    return SF_OK;
}
