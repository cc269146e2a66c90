/* span_findings.c - finds what stands out in a trace: the same small call repeated many times.
 *
 * Children are sorted by start; here they are sorted by name, so that equal ones are adjacent. */
#include <stdlib.h>

#include "link/findings.h"

struct sibling {
    sf_str name;
    uint32_t span;
    uint64_t process;
};

static int order_siblings(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    int order = sf_str_cmp(x->name, y->name);
    return order ? order : (x->span > y->span) - (x->span < y->span);
}

static bool is_equal(const struct sibling *a, const struct sibling *b)
{
    return a->process == b->process && sf_str_eq(a->name, b->name);
}

struct work {
    const struct sf_span_tree *t;
    const struct sf_finding_limits *limits;
    struct sf_arena *req;
    struct sf_finding *items;
    uint32_t n, cap;
};

static bool span_findings_add(struct work *w, uint32_t parent, const struct sibling *first,
                              uint32_t n)
{
    if (w->n == w->cap)
        return true; /* there is space for one finding per ten spans: never reached */
    const struct sf_span_place *p = &w->t->places[parent];
    struct sf_finding f = {.kind = SF_FINDING_SPANS,
                           .node = SF_NONE,
                           .span = parent,
                           .count = n,
                           .subject = first->name};
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_span_place *c = &w->t->places[first[i].span];
        f.value += (int64_t)(c->end_ns - c->start_ns);
    }
    uint64_t parent_ns = p->end_ns - p->start_ns;
    f.share = parent_ns > 0 ? (double)f.value / (double)parent_ns : 0;
    if (!sf_arena_print(w->req, &f.path, "%.*s > %.*s", SF_STR_ARG(w->t->spans[parent].name),
                        SF_STR_ARG(first->name)) ||
        !sf_arena_print(w->req, &f.sentence,
                        "%.*s calls %.*s %u times, %.0f %% of its duration, in %.*s: %s",
                        SF_STR_ARG(w->t->spans[parent].name), SF_STR_ARG(first->name), n,
                        f.share * 100, SF_STR_ARG(f.path), sf_findings_action(f.kind)))
        return false;
    w->items[w->n++] = f;
    return true;
}

static bool look_below(struct work *w, uint32_t parent, struct sibling *list)
{
    uint32_t n = 0;
    for (uint32_t k = w->t->first[parent]; k < w->t->first[parent + 1]; k++) {
        uint32_t child = w->t->children[k];
        list[n++] = (struct sibling){w->t->spans[child].name, child, w->t->places[child].process};
    }
    qsort(list, n, sizeof(*list), order_siblings);
    for (uint32_t from = 0, to = 0; from < n; from = to) {
        while (to < n && is_equal(&list[from], &list[to]))
            to++;
        if (to - from >= w->limits->siblings &&
            !span_findings_add(w, parent, &list[from], to - from))
            return false;
    }
    return true;
}

static int span_findings_order_findings(const void *a, const void *b)
{
    const struct sf_finding *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return (x->span > y->span) - (x->span < y->span);
}

enum sf_err sf_span_findings(const struct sf_span_tree *tree,
                             const struct sf_finding_limits *limits, struct sf_arena *req,
                             struct sf_finding_list *out, struct sf_why *why)
{
    uint32_t least = limits->siblings > 0 ? limits->siblings : 1;
    struct work w = {.t = tree, .limits = limits, .req = req, .cap = tree->n_spans / least + 1};
    struct sibling *list = sf_arena_new_n(req, tree->n_spans + 1u, sizeof(*list));
    w.items = sf_arena_new_n(req, w.cap, sizeof(*w.items));
    if (!list || !w.items)
        return sf_fail(why, SF_ERR_LIMIT, "findings: no memory for %u spans", tree->n_spans);
    for (uint32_t i = 0; i < tree->n_spans; i++)
        if (tree->first[i + 1] - tree->first[i] >= least && !look_below(&w, i, list))
            return sf_fail(why, SF_ERR_LIMIT, "findings: no memory for %u spans", tree->n_spans);
    qsort(w.items, w.n, sizeof(*w.items), span_findings_order_findings);
    *out = (struct sf_finding_list){w.items, w.n, 0};
    return SF_OK;
}
