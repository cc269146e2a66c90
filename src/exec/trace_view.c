#include "exec/trace_view.h"

#include <stdlib.h>

void sf_trace_view_init(struct sf_trace_view *v)
{
    v->root = SF_VIEW_NONE;
    v->start_ns = v->n_spans ? UINT64_MAX : 0;
    v->end_ns = 0;
    for (uint32_t i = 0; i < v->n_spans; i++) {
        const struct sf_span *s = &v->spans[i];
        if (s->start_ns < v->start_ns)
            v->start_ns = s->start_ns;
        if (s->end_ns > v->end_ns)
            v->end_ns = s->end_ns;
        if (s->start_ns > v->end_ns) /* a span that ends before it starts has no duration */
            v->end_ns = s->start_ns;
        if (s->parent_id == 0 && v->root == SF_VIEW_NONE)
            v->root = i;
    }
}

int64_t sf_trace_view_duration_ns(const struct sf_trace_view *v)
{
    uint64_t ns = v->end_ns - v->start_ns;
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

struct by_id {
    sf_span_id id;
    uint32_t place;
};

static int compare_id(const void *a, const void *b)
{
    const struct by_id *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static uint32_t first_with(const struct by_id *ids, uint32_t n, sf_span_id id)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (ids[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* If a client and a server share an id: a server child belongs to the client, any other to the
 * server. */
static uint32_t trace_view_find_parent(const struct sf_trace_view *v, const struct by_id *ids,
                                       uint32_t child)
{
    sf_span_id id = v->spans[child].parent_id;
    uint8_t wanted = v->spans[child].kind == SF_KIND_SERVER ? SF_KIND_CLIENT : SF_KIND_SERVER;
    uint32_t at = first_with(ids, v->n_spans, id), found = SF_VIEW_NONE;
    for (; at < v->n_spans && ids[at].id == id; at++) {
        if (ids[at].place == child)
            continue;
        if (found == SF_VIEW_NONE || v->spans[ids[at].place].kind == wanted)
            found = ids[at].place;
    }
    return found;
}

static bool has_triple(const struct by_id *ids, uint32_t n)
{
    for (uint32_t i = 2; i < n; i++) {
        if (ids[i].id == ids[i - 2].id)
            return true;
    }
    return false;
}

struct lists {
    uint32_t *parent, *order, *left, *right, *n_children;
    uint32_t *first, *next; /* linked lists of children, sorted by start */
};

/* Depth first from each root; spans that are not connected to a root are not visited. */
static uint32_t trace_view_number(const struct sf_trace_view *v, struct lists *l, uint32_t *stack)
{
    uint32_t n_order = 0, counter = 0;
    for (uint32_t root = 0; root < v->n_spans; root++) {
        uint32_t n_stack = 0;
        if (v->spans[root].parent_id != 0)
            continue;
        stack[n_stack++] = root;
        l->left[root] = ++counter;
        l->order[n_order++] = root;
        while (n_stack) {
            uint32_t at = stack[n_stack - 1], child = l->first[at];
            if (child == SF_VIEW_NONE) {
                l->right[at] = ++counter;
                n_stack--;
                continue;
            }
            l->first[at] = l->next[child];
            l->left[child] = ++counter;
            l->order[n_order++] = child;
            stack[n_stack++] = child;
        }
    }
    return n_order;
}

enum sf_err sf_trace_view_link(struct sf_trace_view *v, struct sf_arena *req, struct sf_why *why)
{
    uint32_t n = v->n_spans;
    struct lists l = {
        .parent = sf_arena_new_n(req, n, sizeof(uint32_t)),
        .order = sf_arena_new_n(req, n, sizeof(uint32_t)),
        .left = sf_arena_new_n(req, n, sizeof(uint32_t)),
        .right = sf_arena_new_n(req, n, sizeof(uint32_t)),
        .n_children = sf_arena_new_n(req, n, sizeof(uint32_t)),
    };
    struct sf_arena scratch = *req;
    struct by_id *ids = sf_arena_new_n(&scratch, n, sizeof(*ids));
    uint32_t *stack = sf_arena_new_n(&scratch, n, sizeof(uint32_t));

    l.first = sf_arena_new_n(&scratch, n, sizeof(uint32_t));
    l.next = sf_arena_new_n(&scratch, n, sizeof(uint32_t));
    if (!l.parent || !l.order || !l.left || !l.right || !l.n_children || !l.first || !l.next ||
        !ids || !stack)
        return sf_fail(why, SF_ERR_LIMIT, "trace of %u spans does not fit the query's memory", n);

    for (uint32_t i = 0; i < n; i++) {
        ids[i] = (struct by_id){v->spans[i].span_id, i};
        l.first[i] = SF_VIEW_NONE;
    }
    qsort(ids, n, sizeof(*ids), compare_id);
    for (uint32_t i = n; i > 0; i--) { /* backwards, so that the lists are sorted by start */
        uint32_t child = i - 1;
        uint32_t parent = v->spans[child].parent_id ? trace_view_find_parent(v, ids, child)
                                                    : SF_VIEW_NONE;
        l.parent[child] = parent;
        if (parent == SF_VIEW_NONE)
            continue;
        l.next[child] = l.first[parent];
        l.first[parent] = child;
        l.n_children[parent]++;
    }
    if (!has_triple(ids, n))
        v->n_order = trace_view_number(v, &l, stack);
    for (uint32_t i = 0; i < n; i++) {
        if (l.left[i] == 0)
            l.parent[i] = SF_VIEW_NONE;
    }
    v->parent = l.parent;
    v->order = l.order;
    v->left = l.left;
    v->right = l.right;
    v->n_children = l.n_children;
    return SF_OK;
}
