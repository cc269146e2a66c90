/* local_index.c - the spans of a process, grouped by request.
 *
 * The deepest span at a time is needed once per sample, so it is precomputed: a list of times at
 * which the answer changes, made by one sweep over starts and ends with the active spans in a heap,
 * and then found by binary search. If spans of a tree run on different known threads, there is a
 * list for each thread that is asked for: a span on a known thread is in the lists of that thread
 * and of samples without a thread; one without a thread is in all. */
#include "link/local_index.h"
#include "base/heap_queue.h"

#include <stdlib.h>

struct step { /* valid from its start on */
    uint64_t at_ns;
    uint32_t span;
    bool is_only; /* all other active spans are its ancestors */
};

struct sf_deepest_line {
    struct sf_deepest_line *next;
    uint64_t thread;
    struct step *steps;
    uint32_t n_steps;
};

/* ---- trees ---- */

static int order_trees(const void *a, const void *b)
{
    const struct sf_local_tree *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->root > y->root) - (x->root < y->root);
}

static uint32_t count_roots(const struct sf_span_tree *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_spans; i++)
        n += t->places[i].local_root == i;
    return n;
}

/* The time range of a tree is known only after all its spans were processed, and the order of trees
 * only then. */
static void measure_trees(const struct sf_span_tree *t, struct sf_local_tree *trees,
                          uint32_t *tree_of)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_spans; i++) {
        const struct sf_span_place *p = &t->places[i];
        if (p->local_root != i)
            continue;
        tree_of[i] = n;
        trees[n++] = (struct sf_local_tree){.root = i,
                                            .process = p->process,
                                            .trace_id = t->spans[i].trace_id,
                                            .start_ns = p->start_ns,
                                            .end_ns = p->end_ns};
    }
    for (uint32_t i = 0; i < t->n_spans; i++) {
        const struct sf_span_place *p = &t->places[i];
        struct sf_local_tree *tree = &trees[tree_of[p->local_root]];
        tree->n++;
        tree->self_ns += p->self_ns;
        tree->start_ns = p->start_ns < tree->start_ns ? p->start_ns : tree->start_ns;
        tree->end_ns = p->end_ns > tree->end_ns ? p->end_ns : tree->end_ns;
    }
}

static void place_members(const struct sf_span_tree *t, struct sf_local_tree *trees,
                          uint32_t n_trees, uint32_t *members, uint32_t *tree_of)
{
    uint32_t at = 0;
    for (uint32_t k = 0; k < n_trees; k++) {
        struct sf_local_tree *tree = &trees[k];
        bool is_first = k == 0 || trees[k - 1].process != tree->process;
        tree->last_end_ns = tree->end_ns;
        if (!is_first && trees[k - 1].last_end_ns > tree->end_ns)
            tree->last_end_ns = trees[k - 1].last_end_ns;
        tree->first = at;
        at += tree->n;
        members[tree->first] = tree->root;
        tree->n = 1; /* counted again while members are placed */
        tree_of[tree->root] = k;
    }
    for (uint32_t i = 0; i < t->n_spans; i++) {
        uint32_t root = t->places[i].local_root;
        if (root == i)
            continue;
        struct sf_local_tree *tree = &trees[tree_of[root]];
        members[tree->first + tree->n++] = i;
        tree_of[i] = tree_of[root];
    }
}

enum sf_err sf_local_index_build(const struct sf_span_tree *tree, struct sf_arena *req,
                                 struct sf_local_index *out, struct sf_why *why)
{
    uint32_t n_trees = count_roots(tree);
    struct sf_local_tree *trees = sf_arena_new_n(req, n_trees + 1u, sizeof(*trees));
    uint32_t *members = sf_arena_new_n(req, tree->n_spans + 1u, sizeof(*members));
    uint32_t *tree_of = sf_arena_new_n(req, tree->n_spans + 1u, sizeof(*tree_of));
    if (!trees || !members || !tree_of)
        return sf_fail(why, SF_ERR_LIMIT, "link: no memory for %u spans", tree->n_spans);
    measure_trees(tree, trees, tree_of);
    qsort(trees, n_trees, sizeof(*trees), order_trees);
    place_members(tree, trees, n_trees, members, tree_of);
    *out = (struct sf_local_index){tree, trees, n_trees, members, tree_of, NULL, req};
    return SF_OK;
}

/* The first tree from `low` on of this process or a later one; with `is_after`, of a later one. */
static uint32_t local_index_find_bound(const struct sf_local_index *x, uint32_t low,
                                       uint64_t process, bool is_after)
{
    uint32_t high = x->n_trees;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (x->trees[mid].process < process || (is_after && x->trees[mid].process == process))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct sf_local_run sf_local_index_process(const struct sf_local_index *x, uint64_t process)
{
    uint32_t from = local_index_find_bound(x, 0, process, false);
    return (struct sf_local_run){from, process != 0 ? local_index_find_bound(x, from, process, true)
                                                    : from};
}

/* ---- deepest ---- */

struct change {
    uint64_t at_ns;
    uint32_t span;
    bool is_start;
};

static int order_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->is_start != y->is_start)
        return x->is_start ? 1 : -1; /* ends before starts, since ranges are [start, end) */
    return (x->span > y->span) - (x->span < y->span);
}

static bool is_deeper(const void *arg, const void *a, const void *b)
{
    const struct sf_span_place *places = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (places[x].depth != places[y].depth)
        return places[x].depth > places[y].depth;
    if (places[x].start_ns != places[y].start_ns)
        return places[x].start_ns > places[y].start_ns;
    return x < y;
}

static uint32_t list_changes(const struct sf_local_index *x, const struct sf_local_tree *tree,
                             uint64_t thread, struct change *out)
{
    uint32_t n = 0;
    for (uint32_t k = tree->first; k < tree->first + tree->n; k++) {
        const struct sf_span_place *p = &x->tree->places[x->members[k]];
        if ((thread != 0 && p->thread != 0 && p->thread != thread) || p->end_ns == p->start_ns)
            continue;
        out[n++] = (struct change){p->start_ns, x->members[k], true};
        out[n++] = (struct change){p->end_ns, x->members[k], false};
    }
    qsort(out, n, sizeof(*out), order_changes);
    return n;
}

/* Active spans, and those of them without active children. If there is more than one of the latter,
 * it is uncertain which was worked on. */
struct running {
    const struct sf_span_tree *tree;
    uint32_t *marks; /* by span: 0 not active, otherwise 1 + its active children */
    uint32_t n_ends;
};

static void local_index_note_start(struct running *r, uint32_t span)
{
    uint32_t up = r->tree->places[span].parent, n = 0;
    for (uint32_t k = r->tree->first[span]; k < r->tree->first[span + 1]; k++)
        /* With a different clock it may have begun before its parent. */
        n += r->marks[r->tree->children[k]] > 0;
    r->marks[span] = 1 + n;
    r->n_ends += n == 0;
    if (up != SF_NOBODY && r->marks[up] > 0)
        r->n_ends -= r->marks[up]++ == 1;
}

static void note_end(struct running *r, uint32_t span)
{
    uint32_t up = r->tree->places[span].parent;
    r->n_ends -= r->marks[span] == 1;
    r->marks[span] = 0;
    if (up != SF_NOBODY && r->marks[up] > 0)
        r->n_ends += --r->marks[up] == 1;
}

static struct sf_deepest_line *make_line(struct sf_local_index *x, struct sf_local_tree *tree,
                                         uint64_t thread)
{
    const struct sf_span_place *places = x->tree->places;
    struct sf_deepest_line *line = sf_arena_new(x->req, sizeof(*line));
    struct step *steps = sf_arena_new_n(x->req, 2 * (size_t)tree->n + 1, sizeof(*steps));
    if (!x->marks)
        x->marks = sf_arena_new_n(x->req, x->tree->n_spans + 1u, sizeof(*x->marks));
    struct sf_arena scratch = *x->req; /* returned to the arena: temporary data */
    struct change *changes = sf_arena_new_n(&scratch, 2 * (size_t)tree->n + 1, sizeof(*changes));
    uint32_t *heap = sf_arena_new_n(&scratch, (size_t)tree->n + 1, sizeof(*heap));
    uint32_t n_heap = 0, n_steps = 0;
    struct running running = {.tree = x->tree, .marks = x->marks};
    if (!line || !steps || !changes || !heap || !x->marks)
        return NULL;
    uint32_t n = list_changes(x, tree, thread, changes);
    for (uint32_t i = 0; i < n;) {
        uint64_t at_ns = changes[i].at_ns;
        for (; i < n && changes[i].at_ns == at_ns; i++) {
            if (!changes[i].is_start) {
                note_end(&running, changes[i].span);
                continue;
            }
            local_index_note_start(&running, changes[i].span);
            heap[n_heap] = changes[i].span;
            sf_heap_queue_rise(heap, n_heap++, sizeof(*heap), is_deeper, places);
        }
        while (n_heap > 0 && places[heap[0]].end_ns <= at_ns)
            sf_heap_queue_pop(heap, n_heap--, sizeof(*heap), is_deeper, places);
        uint32_t top = n_heap > 0 ? heap[0] : SF_NOBODY;
        bool is_only = running.n_ends == 1;
        if (n_steps == 0 || steps[n_steps - 1].span != top || steps[n_steps - 1].is_only != is_only)
            steps[n_steps++] = (struct step){at_ns, top, is_only};
    }
    *line = (struct sf_deepest_line){tree->deepest, thread, steps, n_steps};
    tree->deepest = line;
    return line;
}

static bool tree_knows_threads(const struct sf_local_index *x, const struct sf_local_tree *tree)
{
    for (uint32_t k = tree->first; k < tree->first + tree->n; k++)
        if (x->tree->places[x->members[k]].thread != 0)
            return true;
    return false;
}

struct sf_deepest sf_local_index_deepest(struct sf_local_index *x, uint32_t tree_at,
                                         uint64_t thread, uint64_t at_ns, bool *is_full)
{
    struct sf_local_tree *tree = &x->trees[tree_at];
    struct sf_deepest_line *line = tree->deepest;
    if (at_ns < tree->start_ns || at_ns >= tree->end_ns)
        return (struct sf_deepest){SF_NOBODY, false,
                                   at_ns < tree->start_ns ? tree->start_ns : UINT64_MAX};
    while (line && line->thread != thread)
        line = line->next;
    if (!line && thread != 0 && !tree_knows_threads(x, tree))
        return sf_local_index_deepest(x, tree_at, 0, at_ns, is_full);
    if (!line && !(line = make_line(x, tree, thread))) {
        *is_full = true;
        return (struct sf_deepest){SF_NOBODY, false, UINT64_MAX};
    }
    uint32_t low = 0, high = line->n_steps; /* the last step at or before the moment */
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (line->steps[mid].at_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    uint64_t until_ns = low < line->n_steps ? line->steps[low].at_ns : UINT64_MAX;
    if (low == 0)
        return (struct sf_deepest){SF_NOBODY, false, until_ns};
    return (struct sf_deepest){line->steps[low - 1].span, line->steps[low - 1].is_only, until_ns};
}
