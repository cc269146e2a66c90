#include "block/profile/stack_tree.h"

#include "base/hash.h"
#include "base/heap.h"

enum { FIRST_NODES = 64, FIRST_SLOTS = 128, STEP = 16 };

bool sf_stack_tree_init(struct sf_stack_tree *t)
{
    *t = (struct sf_stack_tree){0};
    t->nodes = sf_heap_new_n(FIRST_NODES, sizeof(*t->nodes));
    t->slots = sf_heap_new_n(FIRST_SLOTS, sizeof(*t->slots));
    if (!t->nodes || !t->slots || !sf_place_table_grow(&t->stacks))
        return false;
    t->cap = FIRST_NODES;
    t->n_slots = FIRST_SLOTS;
    t->nodes[0] = (struct sf_profile_node){0, SF_NONE};
    t->n = 1;
    return true;
}

void sf_stack_tree_done(struct sf_stack_tree *t)
{
    sf_heap_free(t->nodes);
    sf_heap_free(t->slots);
    sf_place_table_done(&t->stacks);
    *t = (struct sf_stack_tree){0};
}

size_t sf_stack_tree_memory(const struct sf_stack_tree *t)
{
    return t->cap * sizeof(*t->nodes) + t->n_slots * sizeof(*t->slots) +
           sf_place_table_memory(&t->stacks);
}

/* Locations of a caller are neighbours more often than not: both numbers must reach the low bits.
 */
static uint32_t slot_of(const struct sf_stack_tree *t, uint32_t parent, uint32_t location)
{
    uint64_t h = ((uint64_t)parent << 32 | location) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    return (uint32_t)(h >> 32) & (t->n_slots - 1);
}

static bool grow_slots(struct sf_stack_tree *t)
{
    struct sf_stack_tree wide = *t;
    if (t->n_slots > UINT32_MAX / 4)
        return false;
    wide.n_slots = t->n_slots * 2;
    wide.slots = sf_heap_new_n(wide.n_slots, sizeof(*wide.slots));
    if (!wide.slots)
        return false;
    for (uint32_t i = 1; i < t->n; i++) {
        uint32_t at = slot_of(&wide, t->nodes[i].parent, t->nodes[i].location);
        while (wide.slots[at])
            at = (at + 1) & (wide.n_slots - 1);
        wide.slots[at] = i;
    }
    sf_heap_free(t->slots);
    *t = wide;
    return true;
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
    uint32_t at = slot_of(t, parent, location);
    for (; t->slots[at]; at = (at + 1) & (t->n_slots - 1)) {
        const struct sf_profile_node *have = &t->nodes[t->slots[at]];
        if (have->parent == parent && have->location == location) {
            *out = t->slots[at];
            return true;
        }
    }
    if (t->n >= t->n_slots / 4 * 3) {
        if (!grow_slots(t))
            return false;
        for (at = slot_of(t, parent, location); t->slots[at];)
            at = (at + 1) & (t->n_slots - 1);
    }
    if (t->n == t->cap && !grow_nodes(t))
        return false;
    t->nodes[t->n] = (struct sf_profile_node){parent, location};
    t->slots[at] = t->n;
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
                       uint32_t n, struct sf_place_look *look, uint32_t *out)
{
    *look = sf_place_look(&t->stacks, hash);
    while (sf_place_next(look, out)) {
        if (is_stack(t, *out, locations, n))
            return true;
    }
    return false;
}

static bool keep_stack(struct sf_stack_tree *t, uint64_t hash, const uint32_t *locations,
                       uint32_t n, uint32_t node)
{
    struct sf_place_look look;
    uint32_t have;
    if (!sf_place_table_more(&t->stacks))
        return false;
    if (!find_stack(t, hash, locations, n, &look, &have))
        sf_place_keep(&t->stacks, &look, node);
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
        struct sf_place_look look;
        if (find_stack(t, sf_hash(callers, n_known * sizeof(*callers)), callers, n_known, &look,
                       &node))
            break;
        node = 0;
    }
    for (uint32_t i = n_known; i < n; i++) {
        const uint32_t *callers = locations + (n - 1 - i);
        if (!sf_stack_tree_add(t, node, *callers, &node))
            return false;
        if ((i + 1) % STEP == 0 && i + 1 < n &&
            !keep_stack(t, sf_hash(callers, (i + 1) * sizeof(*callers)), callers, i + 1, node))
            return false;
    }
    *out = node;
    return true;
}

bool sf_stack_tree_add_stack(struct sf_stack_tree *t, const uint32_t *locations, uint32_t n,
                             uint32_t *out)
{
    uint64_t hash = sf_hash(locations, n * sizeof(*locations));
    struct sf_place_look look;
    *out = 0;
    if (n == 0 || find_stack(t, hash, locations, n, &look, out))
        return true;
    return add_frames(t, locations, n, out) && keep_stack(t, hash, locations, n, *out);
}
