/* span_tree.c - builds the tree of spans, and computes the self time of each. */
#include "link/span_tree.h"

#include <stdlib.h>

#include "base/table.h"

struct build {
    const struct sf_span *spans;
    uint32_t n;
    struct sf_span_place *places;
    uint32_t *children, *first;
    struct sf_table at, any_at;
    struct sf_arena *req;
};

static uint64_t span_tree_key_of(sf_trace_id trace, sf_span_id id)
{
    return sf_key_mix(sf_trace_id_key(trace, 0), id);
}

static bool is_span(const struct sf_span *s, sf_trace_id trace, sf_span_id id)
{
    return s->span_id == id && sf_trace_id_eq(s->trace_id, trace);
}

/* A client and a server may share an id, and a trace may contain more copies: two spans per id are
 * enough to find one that is not the child itself. Over all traces, the first span with an id is
 * kept: traces sent with equal ids must not make long lists. */
static void keep_ids(struct build *b, uint32_t i)
{
    const struct sf_span *s = &b->spans[i];
    struct sf_table_lookup lookup = sf_table_lookup(&b->at,
                                                    span_tree_key_of(s->trace_id, s->span_id));
    uint32_t other, n_same = 0;
    while (n_same < 2 && sf_table_next(&lookup, &other))
        n_same += is_span(&b->spans[other], s->trace_id, s->span_id);
    if (n_same < 2)
        sf_table_keep(&b->at, &lookup, i);
    if (n_same > 0)
        return;
    lookup = sf_table_lookup(&b->any_at, sf_key_u64(s->span_id));
    while (sf_table_next(&lookup, &other)) {
        if (b->spans[other].span_id == s->span_id)
            return;
    }
    sf_table_keep(&b->any_at, &lookup, i);
}

static bool span_tree_index_ids(struct build *b)
{
    if (!sf_table_reset(&b->at, b->n) || !sf_table_reset(&b->any_at, b->n))
        return false;
    for (uint32_t i = 0; i < b->n; i++)
        keep_ids(b, i);
    return true;
}

static uint32_t find_other(const struct sf_span *spans, const struct sf_table *ids,
                           sf_trace_id trace, sf_span_id id, uint32_t not_this)
{
    struct sf_table_lookup lookup = sf_table_lookup(ids, span_tree_key_of(trace, id));
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        if (at != not_this && is_span(&spans[at], trace, id))
            return at;
    }
    return SF_NOBODY;
}

static uint32_t find_in_any(const struct sf_span_tree *t, sf_span_id id)
{
    struct sf_table_lookup lookup = sf_table_lookup(&t->any_at, sf_key_u64(id));
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        if (t->spans[at].span_id == id)
            return at;
    }
    return SF_NOBODY;
}

/* Of several spans with the parent's id (a client and a server that share one), the first that is
 * not the child itself. */
static void find_parents(struct build *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const struct sf_span *s = &b->spans[i];
        b->places[i].parent = s->parent_id == 0
                                  ? SF_NOBODY
                                  : find_other(b->spans, &b->at, s->trace_id, s->parent_id, i);
    }
}

/* A cycle of parents has no root: its first span becomes one. `state`: 0 new, 1 on the current
 * path, 2 known to reach a root. */
static bool cut_loops(struct build *b)
{
    uint8_t *state = sf_arena_new_n(b->req, b->n ? b->n : 1, 1);
    if (!state)
        return false;
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t at = i;
        while (at != SF_NOBODY && state[at] == 0) {
            state[at] = 1;
            uint32_t up = b->places[at].parent;
            if (up != SF_NOBODY && state[up] == 1)
                b->places[at].parent = SF_NOBODY;
            at = b->places[at].parent;
        }
        for (at = i; at != SF_NOBODY && state[at] == 1; at = b->places[at].parent)
            state[at] = 2;
    }
    return true;
}

static int span_tree_order_by_start(const void *a, const void *b, void *arg)
{
    const struct sf_span_place *places = arg;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (places[i].start_ns != places[j].start_ns)
        return places[i].start_ns < places[j].start_ns ? -1 : 1;
    return (i > j) - (i < j);
}

static bool find_children(struct build *b)
{
    uint32_t n = b->n;
    uint32_t *next = sf_arena_new_n(b->req, n + 1u, sizeof(*next));
    b->children = sf_arena_new_n(b->req, n + 1u, sizeof(*b->children));
    b->first = sf_arena_new_n(b->req, n + 2u, sizeof(*b->first));
    if (!next || !b->children || !b->first)
        return false;
    for (uint32_t i = 0; i < n; i++)
        b->first[(b->places[i].parent == SF_NOBODY ? n : b->places[i].parent) + 1]++;
    for (uint32_t i = 0; i <= n; i++) {
        b->first[i + 1] += b->first[i];
        next[i] = b->first[i];
    }
    for (uint32_t i = 0; i < n; i++)
        b->children[next[b->places[i].parent == SF_NOBODY ? n : b->places[i].parent]++] = i;
    for (uint32_t i = 0; i <= n; i++)
        qsort_r(b->children + b->first[i], b->first[i + 1] - b->first[i], sizeof(*b->children),
                span_tree_order_by_start, b->places);
    return true;
}

static bool is_local(const struct build *b, uint32_t i, uint32_t j)
{
    return b->places[i].process != 0 && b->places[i].process == b->places[j].process;
}

/* From the roots down, so that a parent's local root is set before those of its children. */
static bool find_local_roots(struct build *b)
{
    uint32_t *todo = sf_arena_new_n(b->req, b->n + 1u, sizeof(*todo));
    uint32_t n_todo = 0;
    if (!todo)
        return false;
    for (uint32_t k = b->first[b->n]; k < b->first[b->n + 1]; k++)
        todo[n_todo++] = b->children[k];
    while (n_todo > 0) {
        uint32_t i = todo[--n_todo], up = b->places[i].parent;
        bool is_inside = up != SF_NOBODY && is_local(b, i, up);
        b->places[i].local_root = is_inside ? b->places[up].local_root : i;
        b->places[i].depth = is_inside ? b->places[up].depth + 1 : 0;
        if (is_inside)
            b->places[up].is_local_parent = true;
        for (uint32_t k = b->first[i]; k < b->first[i + 1]; k++)
            todo[n_todo++] = b->children[k];
    }
    return true;
}

/* Children are sorted by start, so their union inside the parent needs one pass. */
static void measure_self(struct build *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct sf_span_place *p = &b->places[i];
        uint64_t covered_ns = 0, at_ns = p->start_ns;
        for (uint32_t k = b->first[i]; k < b->first[i + 1]; k++) {
            const struct sf_span_place *c = &b->places[b->children[k]];
            uint64_t from_ns = c->start_ns > at_ns ? c->start_ns : at_ns;
            uint64_t to_ns = c->end_ns < p->end_ns ? c->end_ns : p->end_ns;
            if (!is_local(b, i, b->children[k]) || to_ns <= from_ns)
                continue;
            covered_ns += to_ns - from_ns;
            at_ns = to_ns;
        }
        p->self_ns = p->end_ns - p->start_ns - covered_ns;
    }
}

enum sf_err sf_span_tree_build(const struct sf_span *spans, const struct sf_span_origin *origins,
                               uint32_t n_spans, struct sf_arena *req, struct sf_span_tree *out,
                               struct sf_why *why)
{
    struct build b = {
        .spans = spans, .n = n_spans, .req = req, .at = {.arena = req}, .any_at = {.arena = req}};
    b.places = sf_arena_new_n(req, n_spans + 1u, sizeof(*b.places));
    if (!b.places || !span_tree_index_ids(&b))
        goto full;
    for (uint32_t i = 0; i < n_spans; i++) {
        struct sf_span_place *p = &b.places[i];
        p->start_ns = spans[i].start_ns;
        p->end_ns = spans[i].end_ns > spans[i].start_ns ? spans[i].end_ns : spans[i].start_ns;
        p->process = origins ? origins[i].process : 1;
        p->thread = origins ? origins[i].thread : 0;
    }
    find_parents(&b);
    if (!cut_loops(&b) || !find_children(&b) || !find_local_roots(&b))
        goto full;
    measure_self(&b);
    *out = (struct sf_span_tree){.spans = spans,
                                 .places = b.places,
                                 .children = b.children,
                                 .first = b.first,
                                 .at = b.at,
                                 .any_at = b.any_at,
                                 .n_spans = n_spans};
    return SF_OK;
full:
    return sf_fail(why, SF_ERR_LIMIT, "link: no memory for %u spans", n_spans);
}

uint32_t sf_span_tree_find(const struct sf_span_tree *t, sf_trace_id trace, sf_span_id id)
{
    if (id == 0 || t->n_spans == 0)
        return SF_NOBODY;
    return sf_trace_id_is_zero(trace) ? find_in_any(t, id)
                                      : find_other(t->spans, &t->at, trace, id, SF_NOBODY);
}

bool *sf_span_tree_mark_below(const struct sf_span_tree *t, uint32_t above, struct sf_arena *req)
{
    bool *marks = sf_arena_new_n(req, t->n_spans + 1u, sizeof(*marks));
    struct sf_arena scratch;
    uint32_t *todo, n_todo = 0;
    if (!marks || above == SF_NOBODY)
        return marks;
    scratch = *req;
    todo = sf_arena_raw(&scratch, t->n_spans * sizeof(*todo), sizeof(*todo));
    if (!todo)
        return NULL;
    for (todo[n_todo++] = above; n_todo > 0;) {
        uint32_t i = todo[--n_todo];
        marks[i] = true;
        for (uint32_t k = t->first[i]; k < t->first[i + 1]; k++)
            todo[n_todo++] = t->children[k];
    }
    return marks;
}

struct cover {
    uint64_t start_ns, end_ns;
};

static int order_covers(const void *a, const void *b)
{
    const struct cover *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

const uint64_t *sf_span_tree_own_ns(const struct sf_span_tree *t, struct sf_arena *req)
{
    uint64_t *own_ns = sf_arena_new_n(req, t->n_spans + 1u, sizeof(*own_ns));
    struct cover *covers = sf_arena_new_n(req, t->n_spans + 1u, sizeof(*covers));
    for (uint32_t i = 0; own_ns && covers && i < t->n_spans; i++) {
        uint64_t at_ns = sf_span_tree_start_ns(t, i), end_ns = sf_span_tree_end_ns(t, i);
        uint32_t n = 0;
        for (uint32_t k = t->first[i]; k < t->first[i + 1]; k++)
            covers[n++] = (struct cover){sf_span_tree_start_ns(t, t->children[k]),
                                         sf_span_tree_end_ns(t, t->children[k])};
        if (n > 1) /* sorted by start as sent: corrected clocks may give another order */
            qsort(covers, n, sizeof(*covers), order_covers);
        for (uint32_t k = 0; k < n; k++) {
            uint64_t from_ns = covers[k].start_ns < end_ns ? covers[k].start_ns : end_ns;
            own_ns[i] += from_ns > at_ns ? from_ns - at_ns : 0;
            at_ns = covers[k].end_ns > at_ns ? covers[k].end_ns : at_ns;
        }
        own_ns[i] += end_ns > at_ns ? end_ns - at_ns : 0;
    }
    return covers ? own_ns : NULL;
}
