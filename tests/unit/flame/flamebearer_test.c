#include "flame/flamebearer.h"

#include "base/buf.h"
#include "flame/tree_builder.h"
#include "flame/tree_cut.h"
#include "test.h"

static struct sf_arena req;

static struct sf_tree tree(const char *folded)
{
    sf_str rest = sf_str_from(folded), line;
    struct sf_tree_builder b;
    struct sf_tree t;
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    while (*folded && sf_str_split_next(&rest, ',', &line)) {
        sf_str stack, name;
        uint32_t node = 0;
        int64_t value = 0;
        assert_true(sf_str_split_next(&line, ' ', &stack));
        assert_true(sf_str_to_i64(line, &value));
        while (sf_str_split_next(&stack, ';', &name)) {
            struct sf_frame f = {.function = name};
            node = sf_tree_builder_child(&b, node, sf_tree_builder_frame(&b, &f));
        }
        sf_tree_builder_add(&b, node, value, 1);
    }
    assert_ok(sf_tree_builder_take(&b, SF_STR("count"), &t, NULL));
    sf_tree_builder_done(&b);
    return t;
}

/* Levels with names instead of indices: the order of names is nobody's business. */
static void expect_levels(const struct sf_flamebearer *f, uint32_t width, const char *want)
{
    struct sf_buf got = {0};
    for (uint32_t i = 0; i < f->n_levels; i++) {
        for (uint32_t k = 0; k < f->levels[i].n; k++) {
            int64_t v = f->levels[i].values[k];
            if (k % width == width - 1)
                sf_buf_print(&got, "%.*s ", SF_STR_ARG(f->names[v]));
            else
                sf_buf_print(&got, "%ld,", (long)v);
        }
        sf_buf_add_u8(&got, '|');
    }
    sf_buf_add_u8(&got, 0);
    assert_string_equal((char *)got.p, want);
    sf_buf_done(&got);
}

TEST(flamebearer, writes_the_single_form_as_pyroscope_does)
{
    struct sf_flamebearer f;
    struct sf_tree t;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = tree("a 4,a;b 3,a;c 2,d 1");
    assert_ok(sf_flamebearer_single(&t, &req, &f, NULL));
    expect_levels(&f, 4, "0,10,0,total |0,9,4,a 0,1,1,d |4,3,3,b 0,2,2,c |");
    assert_int_equal(f.total, 10);
    assert_int_equal(f.max_self, 4);
    assert_str(f.names[0], "total");
    sf_arena_done(&req);
}

TEST(flamebearer, writes_the_double_form_as_pyroscope_does)
{
    struct sf_flamebearer f;
    struct sf_tree left, right;
    struct sf_tree_diff d;
    assert_true(sf_arena_init(&req, 1 << 20));
    left = tree("a;b 3,a;c 2");
    right = tree("a;b 1,d 4");
    assert_ok(sf_tree_diff(&left, &right, &req, &d, NULL));
    assert_ok(sf_flamebearer_double(&d, &req, &f, NULL));
    expect_levels(&f, 7,
                  "0,5,0,0,5,0,total |0,5,0,0,1,0,a 0,0,0,0,4,4,d |0,3,3,0,1,1,b 0,2,2,0,0,0,c |");
    assert_int_equal(f.total, 10);
    assert_int_equal(f.left_total, 5);
    assert_int_equal(f.right_total, 5);
    assert_int_equal(f.max_self, 4);
    sf_arena_done(&req);
}

TEST(flamebearer, gives_the_root_alone_without_data_and_puts_other_last)
{
    struct sf_flamebearer f;
    struct sf_tree t, cut;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = tree("");
    assert_ok(sf_flamebearer_single(&t, &req, &f, NULL));
    expect_levels(&f, 4, "0,0,0,total |");
    t = tree("z 5,y 4,a 1,b 1");
    assert_ok(sf_tree_cut(&t, 2, &req, &cut, NULL));
    assert_ok(sf_flamebearer_single(&cut, &req, &f, NULL));
    expect_levels(&f, 4, "0,11,0,total |0,4,4,y 0,5,5,z 0,2,2,other |");
    sf_arena_done(&req);
}

TEST(flamebearer, refuses_to_compare_negative_values)
{
    struct sf_flamebearer f;
    struct sf_tree left, right;
    struct sf_tree_diff d;
    struct sf_why why;
    assert_true(sf_arena_init(&req, 1 << 20));
    left = tree("a -3");
    right = tree("a 1");
    assert_ok(sf_tree_diff(&left, &right, &req, &d, NULL));
    assert_err(sf_flamebearer_double(&d, &req, &f, &why), SF_ERR_INPUT);
    sf_arena_done(&req);
}
