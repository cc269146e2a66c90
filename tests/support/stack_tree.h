/* stack_tree.h - trees of stacks as lists of names, and back, for unit tests. */
#pragma once
#include "base/buf.h"
#include "flame/tree_builder.h"
#include "test.h"

static struct sf_arena req;

struct stack {
    const char *path[4]; /* root first */
    int64_t value;
    uint32_t line; /* of the leaf */
};

static inline struct sf_tree tree(const struct stack *stacks, size_t n)
{
    struct sf_tree_builder b;
    struct sf_tree t;
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    for (size_t i = 0; i < n; i++) {
        uint32_t node = 0;
        for (size_t k = 0; k < 4 && stacks[i].path[k]; k++) {
            bool is_leaf = k == 3 || !stacks[i].path[k + 1];
            struct sf_frame f = {.function = sf_str_from(stacks[i].path[k]),
                                 .line = is_leaf ? stacks[i].line : 0};
            node = sf_tree_builder_child(&b, node, sf_tree_builder_frame(&b, &f));
        }
        sf_tree_builder_add(&b, node, stacks[i].value, 1);
    }
    assert_ok(sf_tree_builder_take(&b, SF_STR("count"), &t, NULL));
    sf_tree_builder_done(&b);
    return t;
}

/* "a;b 3 a 1 ": every node with a value, in the order of the tree. */
static inline void expect(const struct sf_tree *t, const char *want)
{
    struct sf_buf got = {0};
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t path[8], n = 0;
        if (!t->nodes[i].self)
            continue;
        for (uint32_t up = i; up != 0; up = t->nodes[up].parent)
            path[n++] = up;
        while (n > 0) {
            n--;
            sf_buf_add_str(&got, t->frames[t->nodes[path[n]].frame].function);
            sf_buf_add_u8(&got, n ? ';' : ' ');
        }
        sf_buf_print(&got, "%d ", (int)t->nodes[i].self);
    }
    sf_buf_add_u8(&got, 0);
    assert_string_equal((char *)got.p, want);
    sf_buf_done(&got);
}
