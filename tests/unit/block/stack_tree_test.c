#include "test.h"

#include <stdlib.h>

#include "base/heap.h"
#include "block/profile/stack_tree.h"

static uint32_t add(struct sf_stack_tree *t, const uint32_t *locations, uint32_t n)
{
    uint32_t leaf = SF_NONE;
    assert_true(sf_stack_tree_add_stack(t, locations, n, &leaf));
    return leaf;
}

static void assert_is(const struct sf_stack_tree *t, uint32_t node, const uint32_t *locations,
                      uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(t->nodes[node].location, locations[i]);
        assert_true(t->nodes[node].parent < node);
        node = t->nodes[node].parent;
    }
    assert_int_equal(node, 0);
}

TEST(stack_tree, shares_what_stacks_have_in_common)
{
    struct sf_stack_tree t;
    const uint32_t first[] = {3, 2, 1}, second[] = {4, 2, 1}, callers[] = {2, 1};
    uint32_t a, b;
    assert_true(sf_stack_tree_init(&t));
    assert_int_equal(add(&t, NULL, 0), 0);
    a = add(&t, first, 3);
    b = add(&t, second, 3);
    assert_int_not_equal(a, b);
    assert_int_equal(t.n, 5); /* the root, two shared, two leaves */
    assert_int_equal(add(&t, callers, 2), t.nodes[a].parent);
    assert_int_equal(add(&t, first, 3), a);
    assert_int_equal(t.n, 5);
    assert_is(&t, a, first, 3);
    assert_is(&t, b, second, 3);
    sf_stack_tree_done(&t);
}

TEST(stack_tree, keeps_every_stack_apart_while_it_grows)
{
    enum { STACKS = 20000, DEPTH = 12 };
    struct sf_stack_tree t;
    static uint32_t leaves[STACKS];
    uint32_t stack[DEPTH];
    assert_true(sf_stack_tree_init(&t));
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < STACKS; i++) {
            uint32_t leaf;
            for (uint32_t k = 0; k < DEPTH; k++)
                stack[k] = i / (1u << k);
            leaf = add(&t, stack, DEPTH);
            if (round == 0)
                leaves[i] = leaf;
            assert_int_equal(leaf, leaves[i]);
            assert_is(&t, leaf, stack, DEPTH);
        }
    }
    assert_true(sf_stack_tree_memory(&t) < (size_t)t.n * 36);
    sf_stack_tree_done(&t);
}

TEST(stack_tree, stays_whole_when_memory_runs_out)
{
    struct sf_stack_tree t;
    uint32_t stack[3], leaf;
    uint32_t n_known = 0;
    assert_true(sf_stack_tree_init(&t));
    sf_heap_fail_after(3);
    for (uint32_t i = 0; i < 100000; i++) {
        stack[0] = i;
        stack[1] = i / 7;
        stack[2] = 1;
        if (!sf_stack_tree_add_stack(&t, stack, 3, &leaf))
            break;
        n_known = i + 1;
    }
    sf_heap_fail_after(0);
    assert_true(n_known > 0 && n_known < 100000);
    for (uint32_t i = 0; i < n_known; i++) {
        const uint32_t again[] = {i, i / 7, 1};
        assert_is(&t, add(&t, again, 3), again, 3);
    }
    sf_stack_tree_done(&t);
}

/* The same by examining all nodes for each frame. */
static uint32_t add_slowly(struct sf_profile_node *nodes, uint32_t *n_nodes,
                           const uint32_t *locations, uint32_t n)
{
    uint32_t node = 0;
    while (n-- > 0) {
        uint32_t at = 1;
        while (at < *n_nodes && (nodes[at].parent != node || nodes[at].location != locations[n]))
            at++;
        if (at == *n_nodes)
            nodes[(*n_nodes)++] = (struct sf_profile_node){node, locations[n]};
        node = at;
    }
    return node;
}

TEST(stack_tree, numbers_nodes_as_one_look_per_frame_would)
{
    enum { STACKS = 600, DEPTH = 40 };
    static struct sf_profile_node nodes[STACKS * DEPTH + 1];
    struct sf_stack_tree t;
    uint32_t n_nodes = 1, stack[DEPTH], seed = 1;
    nodes[0] = (struct sf_profile_node){0, SF_NONE};
    assert_true(sf_stack_tree_init(&t));
    for (uint32_t i = 0; i < STACKS; i++) {
        uint32_t n, own;
        seed = seed * 1664525 + 1013904223;
        n = 1 + (seed >> 16) % DEPTH;
        own = (seed >> 8) % 7; /* the rest is like in many others */
        for (uint32_t k = 0; k < n; k++)
            stack[k] = k < own ? (seed >> (k + 3)) % 11 : (n - k) * ((seed >> 24) % 3);
        assert_int_equal(add(&t, stack, n), add_slowly(nodes, &n_nodes, stack, n));
    }
    assert_int_equal(t.n, n_nodes);
    for (uint32_t i = 1; i < n_nodes; i++) {
        assert_int_equal(t.nodes[i].parent, nodes[i].parent);
        assert_int_equal(t.nodes[i].location, nodes[i].location);
    }
    sf_stack_tree_done(&t);
}

/* Trees in which the same stacks have other numbers, in an order of their own, and some callers are
 * there twice, as in no tree of ours. */
TEST(stack_tree, joins_trees_as_adding_their_stacks_would)
{
    enum { TREES = 4, NODES = 3000, DEPTH = 64 };
    static struct sf_profile_node other[NODES];
    static uint32_t out[NODES], locations[50];
    struct sf_stack_tree joined, added;
    struct sf_arena a;
    uint32_t seed = 7, stack[DEPTH];
    assert_true(sf_arena_init(&a, 1 << 24));
    assert_true(sf_stack_tree_init(&joined) && sf_stack_tree_init(&added));
    for (int tree = 0; tree < TREES; tree++) {
        uint32_t depths[NODES] = {0};
        for (uint32_t i = 0; i < 50; i++)
            locations[i] = (i * 7 + (uint32_t)tree * 13) % 60;
        other[0] = (struct sf_profile_node){0, SF_NONE};
        for (uint32_t i = 1; i < NODES; i++) {
            uint32_t parent;
            seed = seed * 1664525 + 1013904223;
            parent = seed % 3 ? i - 1 : (seed >> 8) % i;
            if (depths[parent] == DEPTH)
                parent = 0;
            depths[i] = depths[parent] + 1;
            other[i] = (struct sf_profile_node){parent, (seed >> 20) % 50};
        }
        assert_true(sf_stack_tree_join(&joined, other, NODES, locations, out, a));
        for (uint32_t i = 0; i < NODES; i++) {
            uint32_t n = 0;
            for (uint32_t node = i; node; node = other[node].parent)
                stack[n++] = locations[other[node].location];
            assert_is(&joined, out[i], stack, n);
            (void)add(&added, stack, n);
        }
        assert_int_equal(joined.n, added.n);
    }
    assert_true(sf_stack_tree_join(&joined, other, 1, locations, out, a));
    assert_true(sf_stack_tree_join(&joined, NULL, 0, NULL, NULL, a));
    assert_int_equal(joined.n, added.n);
    sf_stack_tree_done(&joined);
    sf_stack_tree_done(&added);
    sf_arena_done(&a);
}

TEST(stack_tree, stays_whole_when_memory_for_a_join_runs_out)
{
    enum { NODES = 2000 };
    static struct sf_profile_node other[NODES];
    static uint32_t out[NODES], locations[NODES];
    struct sf_arena a;
    assert_true(sf_arena_init(&a, 1 << 24));
    for (uint32_t i = 0; i < NODES; i++) {
        other[i] = (struct sf_profile_node){i / 3, i};
        locations[i] = i;
    }
    bool is_ok = false;
    for (uint64_t nth = 1; !is_ok; nth++) {
        struct sf_stack_tree t;
        assert_true(sf_stack_tree_init(&t));
        sf_heap_fail_after(nth);
        is_ok = sf_stack_tree_join(&t, other, NODES, locations, out, a);
        sf_heap_fail_after(0);
        assert_true(nth > 1 || !is_ok);
        assert_true(sf_stack_tree_join(&t, other, NODES, locations, out, a));
        assert_int_equal(t.n, NODES);
        sf_stack_tree_done(&t);
    }
    sf_arena_done(&a);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void assert_no_node_twice(const struct sf_stack_tree *t)
{
    static uint64_t nodes[1 << 17];
    assert_true(t->n <= sizeof(nodes) / sizeof(nodes[0]));
    for (uint32_t i = 0; i < t->n; i++)
        nodes[i] = (uint64_t)t->nodes[i].parent << 32 | t->nodes[i].location;
    qsort(nodes + 1, t->n - 1, sizeof(nodes[0]), compare_u64);
    for (uint32_t i = 2; i < t->n; i++)
        assert_int_not_equal(nodes[i - 1], nodes[i]);
}

/* Stacks of all depths that branch everywhere, callers of other stacks among them: every path has
 * one node, in a tree made stack by stack and in one joined from two others. */
TEST(stack_tree, has_one_node_for_each_path)
{
    enum { STACKS = 3000, MOST = 40 };
    struct sf_stack_tree t[2], joined;
    static uint32_t identity[8], out[1 << 17];
    uint32_t stack[MOST], again[MOST], dice = 1;
    struct sf_arena scratch;
    assert_true(sf_arena_init(&scratch, 64 << 20));
    for (uint32_t i = 0; i < 8; i++)
        identity[i] = i;
    assert_true(sf_stack_tree_init(&joined));
    for (int k = 0; k < 2; k++) {
        assert_true(sf_stack_tree_init(&t[k]));
        memset(again, 0, sizeof(again));
        for (uint32_t i = 0; i < STACKS; i++) {
            uint32_t n, leaf, from;
            dice = dice * 1664525u + 1013904223u;
            n = 1 + (dice >> 8) % MOST;
            from = (dice >> 16) % MOST; /* frames from here on, seen from the root, are changed */
            for (uint32_t d = from; d < MOST && (dice & 128); d++)
                again[d] = (again[d] * 5 + (dice >> (d % 24)) + d) % 8;
            for (uint32_t d = 0; d < n; d++)
                stack[n - 1 - d] = again[d];
            leaf = add(&t[k], stack, n);
            assert_is(&t[k], leaf, stack, n);
            assert_int_equal(add(&t[k], stack, n), leaf);
        }
        assert_no_node_twice(&t[k]);
        assert_true(sf_stack_tree_join(&joined, t[k].nodes, t[k].n, identity, out, scratch));
        assert_no_node_twice(&joined);
        for (uint32_t i = 1; i < t[k].n; i++) {
            assert_int_equal(joined.nodes[out[i]].parent, out[t[k].nodes[i].parent]);
            assert_int_equal(joined.nodes[out[i]].location, t[k].nodes[i].location);
        }
    }
    assert_true(t[0].n > 10000 && joined.n > t[0].n);
    /* What was joined is found stack by stack. */
    for (uint32_t i = 1; i < t[1].n; i++) {
        uint32_t n = 0;
        for (uint32_t node = i; node; node = t[1].nodes[node].parent)
            stack[n++] = t[1].nodes[node].location;
        assert_int_equal(add(&joined, stack, n), out[i]);
    }
    assert_no_node_twice(&joined);
    for (int k = 0; k < 2; k++)
        sf_stack_tree_done(&t[k]);
    sf_stack_tree_done(&joined);
    sf_arena_done(&scratch);
}
