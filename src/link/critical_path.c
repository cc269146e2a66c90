#include "link/critical_path.h"

#include <stdlib.h>

struct by_end {
    uint32_t group, place; /* group: the parent's place, n for roots */
    uint64_t end_ns;       /* clipped to the parent */
};

static int compare_end(const void *a, const void *b)
{
    const struct by_end *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static bool is_async(const struct sf_span *parent, const struct sf_span *child)
{
    return parent->kind == SF_KIND_PRODUCER || child->kind == SF_KIND_CONSUMER;
}

struct frame {          /* a span on the way down */
    uint32_t place;     /* n: the trace itself, whose children are the roots */
    uint32_t next;      /* children [child_at, next) are still to be looked at, latest end first */
    uint64_t cursor_ns; /* everything after it is accounted for */
};

struct walk {
    const struct sf_span *spans;
    const struct sf_trace_tree *tree;
    struct by_end *ends;
    struct sf_critical_step *steps; /* written backwards in time */
    uint32_t n_steps;
    uint64_t *own_ns;
};

static void add_step(struct walk *w, uint32_t place, uint64_t from_ns, uint64_t to_ns)
{
    if (place == w->tree->n || to_ns <= from_ns)
        return;
    w->steps[w->n_steps++] = (struct sf_critical_step){place, from_ns, to_ns};
    w->own_ns[place] += to_ns - from_ns;
}

/* The last child that ended by the cursor and has any length left; moves `next` past it. */
static bool take_child(struct walk *w, struct frame *f, struct by_end *out)
{
    while (f->next > w->tree->child_at[f->place]) {
        struct by_end c = w->ends[--f->next];
        if (c.end_ns <= f->cursor_ns && w->spans[c.place].start_ns < c.end_ns) {
            *out = c;
            return true;
        }
    }
    return false;
}

static uint64_t start_of(const struct walk *w, uint32_t place)
{
    return place == w->tree->n ? w->tree->start_ns : w->spans[place].start_ns;
}

static void run(struct walk *w, struct frame *stack)
{
    uint32_t n = w->tree->n, depth = 1;
    stack[0] = (struct frame){n, w->tree->child_at[n + 1], w->tree->end_ns};
    while (depth) {
        struct frame *f = &stack[depth - 1];
        struct by_end c;
        if (take_child(w, f, &c)) {
            uint64_t from_ns = start_of(w, f->place);
            add_step(w, f->place, c.end_ns > from_ns ? c.end_ns : from_ns, f->cursor_ns);
            stack[depth++] = (struct frame){c.place, w->tree->child_at[c.place + 1], c.end_ns};
            continue;
        }
        add_step(w, f->place, start_of(w, f->place), f->cursor_ns);
        depth--;
        if (depth) {
            /* The parent goes on from where this child began. A child that claims to have begun
             * before its parent must not push the cursor below it. */
            struct frame *up = &stack[depth - 1];
            uint64_t at = start_of(w, f->place), floor_ns = start_of(w, up->place);
            up->cursor_ns = at > floor_ns ? at : floor_ns;
        }
    }
}

enum sf_err sf_critical_path_find(const struct sf_span *spans, const struct sf_trace_tree *tree,
                                  struct sf_arena *req, struct sf_critical_path *out,
                                  struct sf_why *why)
{
    uint32_t n = tree->n;
    /* Each child adds at most one gap before it and one after the last: 2 n + 1 steps. */
    struct walk w = {.spans = spans, .tree = tree};
    struct sf_arena scratch;
    struct frame *stack;

    w.steps = sf_arena_new_n(req, 2 * (size_t)n + 1, sizeof(*w.steps));
    w.own_ns = sf_arena_new_n(req, n, sizeof(*w.own_ns));
    scratch = *req;
    w.ends = sf_arena_new_n(&scratch, n, sizeof(*w.ends));
    stack = sf_arena_new_n(&scratch, (size_t)n + 1, sizeof(*stack));
    if (!w.steps || !w.own_ns || !w.ends || !stack)
        return sf_fail(why, SF_ERR_LIMIT, "trace of %u spans: no room for its critical path", n);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t group = tree->parent[i] == SF_TREE_NONE ? n : tree->parent[i];
        uint64_t end_ns = spans[i].end_ns;
        if (group < n && end_ns > spans[group].end_ns)
            end_ns = is_async(&spans[group], &spans[i]) ? 0 : spans[group].end_ns;
        w.ends[i] = (struct by_end){group, i, end_ns};
    }
    /* Sorted by parent like tree->child, so that child_at serves both. */
    qsort(w.ends, n, sizeof(*w.ends), compare_end);
    if (n)
        run(&w, stack);
    for (uint32_t i = 0; i < w.n_steps / 2; i++) {
        struct sf_critical_step t = w.steps[i];
        w.steps[i] = w.steps[w.n_steps - 1 - i];
        w.steps[w.n_steps - 1 - i] = t;
    }
    *out = (struct sf_critical_path){w.steps, w.n_steps, w.own_ns};
    return SF_OK;
}
