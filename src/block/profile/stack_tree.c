#include "block/profile/stack_tree.h"

#include "base/heap.h"

enum { FIRST_NODES = 64, STEP = 16 };

bool sf_stack_tree_init(struct sf_stack_tree *t)
{
    *t = (struct sf_stack_tree){0};
    t->nodes = sf_heap_new_n(FIRST_NODES, sizeof(*t->nodes));
    if (!t->nodes || !sf_table_grow(&t->at) || !sf_table_grow(&t->stacks))
        return false;
    t->cap = FIRST_NODES;
    t->nodes[0] = (struct sf_profile_node){0, SF_NONE};
    t->n = 1;
    return true;
}

void sf_stack_tree_done(struct sf_stack_tree *t)
{
    sf_heap_free(t->nodes);
    sf_table_done(&t->at);
    sf_table_done(&t->stacks);
    *t = (struct sf_stack_tree){0};
}

size_t sf_stack_tree_memory(const struct sf_stack_tree *t)
{
    return t->cap * sizeof(*t->nodes) + sf_table_memory(&t->at) + sf_table_memory(&t->stacks);
}

static bool grow_nodes(struct sf_stack_tree *t)
{
    uint32_t cap = t->cap + t->cap / 2;
    struct sf_profile_node *nodes;
    if (t->cap > UINT32_MAX / 2)
        return false;
    nodes = sf_heap_grow(t->nodes, cap, sizeof(*nodes));
    if (!nodes)
        return false;
    t->nodes = nodes;
    t->cap = cap;
    return true;
}

bool sf_stack_tree_add(struct sf_stack_tree *t, uint32_t parent, uint32_t location, uint32_t *out)
{
    struct sf_table_lookup lookup;
    if (!sf_table_more(&t->at))
        return false;
    lookup = sf_table_lookup(&t->at, sf_key_u64((uint64_t)parent << 32 | location));
    while (sf_table_next(&lookup, out)) {
        if (t->nodes[*out].parent == parent && t->nodes[*out].location == location)
            return true;
    }
    if (t->n == t->cap && !grow_nodes(t))
        return false;
    t->nodes[t->n] = (struct sf_profile_node){parent, location};
    sf_table_keep(&t->at, &lookup, t->n);
    *out = t->n++;
    return true;
}

/* Is `node` the leaf of these locations, leaf first? */
static bool is_stack(const struct sf_stack_tree *t, uint32_t node, const uint32_t *locations,
                     uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (node == 0 || t->nodes[node].location != locations[i])
            return false;
        node = t->nodes[node].parent;
    }
    return node == 0;
}

/* The leaf of these locations; else the look that found none. */
static bool find_stack(const struct sf_stack_tree *t, uint64_t hash, const uint32_t *locations,
                       uint32_t n, struct sf_table_lookup *lookup, uint32_t *out)
{
    *lookup = sf_table_lookup(&t->stacks, hash);
    while (sf_table_next(lookup, out)) {
        if (is_stack(t, *out, locations, n))
            return true;
    }
    return false;
}

static bool keep_stack(struct sf_stack_tree *t, uint64_t hash, const uint32_t *locations,
                       uint32_t n, uint32_t node)
{
    struct sf_table_lookup lookup;
    uint32_t have;
    if (!sf_table_more(&t->stacks))
        return false;
    if (!find_stack(t, hash, locations, n, &lookup, &have))
        sf_table_keep(&t->stacks, &lookup, node);
    return true;
}

/* A stack that is new has mostly known callers: the root-most 16, 32, 48 frames of stacks are kept
 * like stacks, so that only what is below them is looked up frame by frame. */
static bool add_frames(struct sf_stack_tree *t, const uint32_t *locations, uint32_t n,
                       uint32_t *out)
{
    uint32_t node = 0, n_known = (n - 1) / STEP * STEP;
    for (; n_known; n_known -= STEP) {
        const uint32_t *callers = locations + (n - n_known);
        struct sf_table_lookup lookup;
        if (find_stack(t, sf_key(callers, n_known * sizeof(*callers)), callers, n_known, &lookup,
                       &node))
            break;
        node = 0;
    }
    for (uint32_t i = n_known; i < n; i++) {
        const uint32_t *callers = locations + (n - 1 - i);
        if (!sf_stack_tree_add(t, node, *callers, &node))
            return false;
        if ((i + 1) % STEP == 0 && i + 1 < n &&
            !keep_stack(t, sf_key(callers, (i + 1) * sizeof(*callers)), callers, i + 1, node))
            return false;
    }
    *out = node;
    return true;
}

bool sf_stack_tree_add_stack(struct sf_stack_tree *t, const uint32_t *locations, uint32_t n,
                             uint32_t *out)
{
    uint64_t hash = sf_key(locations, n * sizeof(*locations));
    struct sf_table_lookup lookup;
    *out = 0;
    if (n == 0 || find_stack(t, hash, locations, n, &lookup, out))
        return true;
    return add_frames(t, locations, n, out) && keep_stack(t, hash, locations, n, *out);
}
