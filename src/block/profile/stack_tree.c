/* stack_tree.c - the stacks of one service as a tree. Nodes are in one hash table, by the hash of
 * the path from the root to them, which is a sum over its frames: so the hashes of all callers of a
 * stack cost one step each, in ingest and in merges. A node found by its hash is verified by
 * walking up the tree.
 *
 * Not all nodes are in the table, to save memory and cache misses: only the ends of stacks, those
 * at every eighth depth, and those that do not directly follow their caller in the list. The first
 * callee of a node, if it was added together with it, is the next node. */
#include "block/profile/stack_tree.h"

#include <pthread.h>

#include "base/heap.h"

enum { FIRST_NODES = 64, STRIDE = 8, FETCH = 2, AHEAD = 24 };

/* The hash of a path is the sum of its locations, each plus one and times the factor of its depth.
 * Factors are secret, so a sender cannot choose stacks that collide: two paths have the same upper
 * half with a probability of about 2^-32. Sums of all callers cost one step per frame, and no step
 * waits for a multiplication of the one before. */
static uint64_t factors[SF_LIMIT_FRAMES + 1];

static void choose_factors(void)
{
    for (uint32_t i = 0; i <= SF_LIMIT_FRAMES; i++)
        factors[i] = sf_key_mix(sf_key_u64(i), sf_key_secret[4]) | 1;
}

bool sf_stack_tree_init(struct sf_stack_tree *t)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_factors);
    *t = (struct sf_stack_tree){0};
    t->nodes = sf_heap_new_n(FIRST_NODES, sizeof(*t->nodes));
    if (!t->nodes)
        return false;
    t->cap = FIRST_NODES;
    t->nodes[0] = (struct sf_profile_node){0, SF_NONE};
    t->n = 1;
    return true;
}

void sf_stack_tree_done(struct sf_stack_tree *t)
{
    sf_heap_free(t->nodes);
    sf_table_done(&t->paths);
    *t = (struct sf_stack_tree){0};
}

size_t sf_stack_tree_memory(const struct sf_stack_tree *t)
{
    return t->cap * sizeof(*t->nodes) + sf_table_memory(&t->paths);
}

static bool room_for_nodes(struct sf_stack_tree *t, uint32_t n)
{
    uint32_t cap = t->cap;
    struct sf_profile_node *nodes;
    if (n <= t->cap - t->n)
        return true;
    while (cap - t->n < n) {
        if (cap > UINT32_MAX / 2)
            return false;
        cap += cap / (cap < 8192 ? 2 : 4); /* unused memory counts, too */
    }
    nodes = sf_heap_grow(t->nodes, cap, sizeof(*nodes));
    if (!nodes)
        return false;
    t->nodes = nodes;
    t->cap = cap;
    return true;
}

/* ---- stack by stack ---- */

static uint32_t path_location(const struct sf_stack_path *p,
                              uint32_t depth) /* from 1, at the root */
{
    return p->locations[p->n - depth];
}

static void path_init(struct sf_stack_path *p, const uint32_t *locations, uint32_t n)
{
    uint64_t hash = factors[0];
    p->locations = locations;
    p->n = n;
    for (uint32_t depth = 1; depth <= n; depth++) {
        hash += ((uint64_t)path_location(p, depth) + 1) * factors[depth];
        p->hashes[depth] = hash;
    }
}

static uint64_t path_hash(const struct sf_stack_path *p, uint32_t depth) /* from 1 */
{
    return p->hashes[depth];
}

/* Is `node` the end of the `depth` outermost frames? */
static bool is_path(const struct sf_stack_tree *t, uint32_t node, const struct sf_stack_path *p,
                    uint32_t depth)
{
    for (; depth; depth--) {
        uint32_t parent = t->nodes[node].parent;
        if (node == 0 || t->nodes[node].location != path_location(p, depth))
            return false;
        /* Frames that were added together are neighbours. The processor predicts this branch and
         * reads on, instead of waiting for each parent; for the compiler, which would remove the
         * branch, the number becomes another one. */
        if (parent == node - 1) {
            __asm__("" : "+r"(node));
            node--;
        } else {
            node = parent;
        }
    }
    return node == 0;
}

/* A node that may be the end of the `depth` outermost frames: its hash and location match. */
static bool stack_tree_guess(const struct sf_stack_tree *t, const struct sf_stack_path *p,
                             uint32_t depth, uint32_t *out)
{
    struct sf_table_lookup lookup = sf_table_lookup(&t->paths, path_hash(p, depth));
    while (sf_table_next(&lookup, out)) {
        if (t->nodes[*out].location == path_location(p, depth))
            return true;
    }
    return false;
}

static bool find_leaf(const struct sf_stack_tree *t, const struct sf_stack_path *p, uint32_t *out)
{
    struct sf_table_lookup lookup = sf_table_lookup(&t->paths, path_hash(p, p->n));
    while (sf_table_next(&lookup, out)) {
        if (is_path(t, *out, p, p->n))
            return true;
    }
    return false;
}

static bool is_callee(const struct sf_stack_tree *t, uint32_t node, uint32_t caller,
                      uint32_t location)
{
    return t->nodes[node].parent == caller && t->nodes[node].location == location;
}

/* The node of a location under its caller; `hash` is of the whole path. */
static bool find_callee(const struct sf_stack_tree *t, uint32_t caller, uint32_t location,
                        uint64_t hash, uint32_t *out)
{
    struct sf_table_lookup lookup;
    *out = caller + 1;
    if (*out < t->n && is_callee(t, *out, caller, location))
        return true;
    lookup = sf_table_lookup(&t->paths, hash);
    while (sf_table_next(&lookup, out)) {
        if (is_callee(t, *out, caller, location))
            return true;
    }
    return false;
}

/* Returns how many of the outermost frames are in the tree, and the node where they end. Hash
 * collisions may mislead the binary search; then the frames are looked up from the root on. */
static uint32_t find_callers(const struct sf_stack_tree *t, const struct sf_stack_path *p,
                             uint32_t *out)
{
    uint32_t low = 0, high = p->n / STRIDE + 1, node = 0, depth;
    /* Most stacks differ from known ones in a few innermost frames: steps of 1, 2, 4, ... from
     * there, then by halves. */
    for (uint32_t step = 1; high - low > 1; step *= 2) {
        uint32_t mid = low || step >= high ? low + (high - low) / 2 : high - step, found;
        if (stack_tree_guess(t, p, mid * STRIDE, &found)) {
            low = mid;
            node = found;
        } else {
            high = mid;
        }
    }
    depth = low * STRIDE;
    if (!is_path(t, node, p, depth))
        depth = node = 0;
    for (; depth < p->n; depth++) {
        uint32_t callee;
        if (!find_callee(t, node, path_location(p, depth + 1), path_hash(p, depth + 1), &callee))
            break;
        node = callee;
    }
    *out = node;
    return depth;
}

/* The most nodes in the table for `n` new ones below each other. */
static uint32_t n_listed(uint32_t n)
{
    return n / STRIDE + 3;
}

/* Adds a node; there is space. `is_end`: of a stack. */
static uint32_t add_node(struct sf_stack_tree *t, uint32_t caller, uint32_t location,
                         uint32_t depth, bool is_end, uint64_t hash)
{
    t->nodes[t->n] = (struct sf_profile_node){caller, location};
    if (is_end || depth % STRIDE == 0 || caller + 1 != t->n)
        sf_table_put(&t->paths, hash, t->n);
    return t->n++;
}

bool sf_stack_tree_path(const struct sf_stack_tree *t, const uint32_t *locations, uint32_t n,
                        struct sf_stack_path *out)
{
    if (n > SF_LIMIT_FRAMES)
        return false;
    path_init(out, locations, n);
    if (n)
        sf_table_prefetch(&t->paths, path_hash(out, n));
    return true;
}

void sf_stack_tree_fetch(const struct sf_stack_tree *t, const struct sf_stack_path *p)
{
    uint32_t node;
    if (p->n == 0)
        return;
    if (sf_table_peek(&t->paths, path_hash(p, p->n), &node)) {
        __builtin_prefetch(&t->nodes[node]);
        return;
    }
    for (uint32_t i = p->n / STRIDE, n = 0; i && n < FETCH; i--, n++)
        sf_table_prefetch(&t->paths, path_hash(p, i * STRIDE));
}

bool sf_stack_tree_add_path(struct sf_stack_tree *t, const struct sf_stack_path *p, uint32_t *out)
{
    uint32_t node = 0, depth;
    *out = 0;
    if (p->n == 0)
        return true;
    if (!sf_table_more(&t->paths))
        return false;
    if (find_leaf(t, p, out))
        return true;
    depth = find_callers(t, p, &node);
    if (!room_for_nodes(t, p->n - depth) || !sf_table_reserve(&t->paths, n_listed(p->n - depth)))
        return false;
    if (depth == p->n) /* a caller of another stack */
        sf_table_put(&t->paths, path_hash(p, depth), node);
    while (depth < p->n) {
        depth++;
        node = add_node(t, node, path_location(p, depth), depth, depth == p->n,
                        path_hash(p, depth));
    }
    *out = node;
    return true;
}

bool sf_stack_tree_add_stack(struct sf_stack_tree *t, const uint32_t *locations, uint32_t n,
                             uint32_t *out)
{
    struct sf_stack_path p;
    return sf_stack_tree_path(t, locations, n, &p) && sf_stack_tree_add_path(t, &p, out);
}

/* ---- another tree ---- */

struct joining {
    struct sf_stack_tree *t;
    const struct sf_profile_node *nodes; /* of the other tree */
    const uint32_t *locations;           /* what its locations are here */
    uint32_t *out;                       /* what its nodes are here; SF_NONE: not known yet */
    uint64_t *hashes;                    /* of the paths to its nodes */
    uint16_t *depths;
};

static uint32_t joined_location(const struct joining *j, uint32_t node)
{
    return j->locations[j->nodes[node].location];
}

/* Depths in a damaged block have no limit. */
static uint64_t factor_of(uint32_t depth)
{
    return factors[(depth - 1) % SF_LIMIT_FRAMES + 1];
}

/* Hashes all paths and marks the nodes that are callers. */
static void hash_all(const struct joining *j, uint32_t n, bool *is_caller)
{
    uint16_t *depths = j->depths;
    j->hashes[0] = factors[0];
    depths[0] = 0;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t parent = j->nodes[i].parent;
        depths[i] = (uint16_t)(depths[parent] % SF_LIMIT_FRAMES + 1);
        j->hashes[i] = j->hashes[parent] +
                       ((uint64_t)joined_location(j, i) + 1) * factor_of(depths[i]);
        is_caller[parent] = true;
        j->out[i] = SF_NONE;
    }
    j->out[0] = 0;
}

/* Is `here` the other tree's `node`? Callers are compared up to one that is known. */
static bool is_joined(const struct joining *j, uint32_t node, uint32_t here)
{
    while (j->out[node] == SF_NONE) {
        if (here == 0 || j->t->nodes[here].location != joined_location(j, node))
            return false;
        node = j->nodes[node].parent;
        here = j->t->nodes[here].parent;
    }
    return j->out[node] == here;
}

/* A whole stack that is known. */
static bool join_known(const struct joining *j, uint32_t leaf)
{
    struct sf_table_lookup lookup = sf_table_lookup(&j->t->paths, j->hashes[leaf]);
    uint32_t here;
    while (sf_table_next(&lookup, &here)) {
        if (!is_joined(j, leaf, here))
            continue;
        for (; j->out[leaf] == SF_NONE; leaf = j->nodes[leaf].parent) {
            j->out[leaf] = here;
            here = j->t->nodes[here].parent;
        }
        return true;
    }
    return false;
}

/* A stack of which some frames are new; `chain` has space for them. */
static bool join_new(const struct joining *j, uint32_t leaf, uint32_t *chain)
{
    struct sf_stack_tree *t = j->t;
    uint32_t n = 0, here;
    for (uint32_t node = leaf; j->out[node] == SF_NONE; node = j->nodes[node].parent)
        chain[n++] = node;
    for (; n && find_callee(t, j->out[j->nodes[chain[n - 1]].parent],
                            joined_location(j, chain[n - 1]), j->hashes[chain[n - 1]], &here);
         n--)
        j->out[chain[n - 1]] = here;
    if (!room_for_nodes(t, n) || !sf_table_reserve(&t->paths, n_listed(n)))
        return false;
    if (n == 0) /* a caller of another stack */
        sf_table_put(&t->paths, j->hashes[leaf], j->out[leaf]);
    while (n--)
        j->out[chain[n]] = add_node(t, j->out[j->nodes[chain[n]].parent],
                                    joined_location(j, chain[n]), j->depths[chain[n]], n == 0,
                                    j->hashes[chain[n]]);
    return true;
}

bool sf_stack_tree_join(struct sf_stack_tree *t, const struct sf_profile_node *nodes, uint32_t n,
                        const uint32_t *locations, uint32_t *out, struct sf_arena scratch)
{
    struct joining j = {.t = t, .nodes = nodes, .locations = locations, .out = out};
    bool *is_caller = sf_arena_new_n(&scratch, (size_t)n + 1, sizeof(*is_caller));
    uint32_t *chain = sf_arena_raw(&scratch, ((size_t)n + 1) * sizeof(*chain), 16);
    bool is_ok = true;
    j.hashes = sf_arena_raw(&scratch, ((size_t)n + 1) * sizeof(*j.hashes), 16);
    j.depths = sf_arena_raw(&scratch, ((size_t)n + 1) * sizeof(*j.depths), 16);
    if (!j.depths || !is_caller || !chain || !j.hashes || !sf_table_more(&t->paths))
        return false;
    if (n)
        hash_all(&j, n, is_caller);
    if (t->n == 1 && n && (!room_for_nodes(t, n) || !sf_table_reserve(&t->paths, n / 2)))
        return false; /* all of it is new */
    for (uint32_t i = 1; is_ok && i < n; i++) {
        if (i + AHEAD < n && !is_caller[i + AHEAD])
            sf_table_prefetch(&t->paths, j.hashes[i + AHEAD]);
        is_ok = is_caller[i] || join_known(&j, i) || join_new(&j, i, chain);
    }
    return is_ok;
}
