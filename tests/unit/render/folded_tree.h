/* folded_tree.h - trees for tests, from lines of folded text: "a;b;c 3\n". */
#pragma once
#include "flame/tree_builder.h"
#include "test.h"

static struct sf_tree folded_tree(sf_str text, sf_str unit, struct sf_arena *req)
{
    struct sf_tree_builder b;
    struct sf_tree t;
    sf_str line;
    sf_tree_builder_init(&b, req, 0, SF_TREE_COPIES);
    while (sf_str_split_next(&text, '\n', &line)) {
        sf_str stack, name;
        uint32_t node = 0;
        int64_t value = 0;
        size_t space = line.len;
        if (line.len == 0)
            continue;
        while (line.p[space - 1] != ' ')
            space--;
        assert_true(sf_str_to_i64(sf_str_from_at(line, space), &value));
        stack = sf_str_part(line, 0, space - 1);
        while (sf_str_split_next(&stack, ';', &name)) {
            struct sf_frame f = {.function = name};
            node = sf_tree_builder_child(&b, node, sf_tree_builder_frame(&b, &f));
        }
        sf_tree_builder_add(&b, node, value, 1);
    }
    assert_ok(sf_tree_builder_take(&b, unit, &t, NULL));
    sf_tree_builder_done(&b);
    return t;
}
