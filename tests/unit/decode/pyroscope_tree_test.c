#include "support/profile_rig.h"

#include "base/heap.h"

static struct profile_rig rig;

static void hint(const char *format)
{
    rig.hint = (struct sf_profile_hint){.format = sf_str_from(format)};
}

#define TREE SF_STR("\0\0\1\1a\0\2\1b\1\0\1c\2\0")
#define TRIE SF_STR("\0\0\1\2ab\0\2\1c\1\0\1d\2\0")

TEST(pyroscope_tree, a_name_in_a_tree_is_a_frame)
{
    hint("tree");
    assert_ok(profile_decode_text(&rig, TREE));
    assert_int_equal(profile_value(&rig, "samples:count", "a;b"), 1);
    assert_int_equal(profile_value(&rig, "samples:count", "a;c"), 2);
}

TEST(pyroscope_tree, names_in_a_trie_are_glued_together)
{
    hint("trie");
    assert_ok(profile_decode_text(&rig, TRIE));
    assert_int_equal(profile_value(&rig, "samples:count", "abc"), 1);
    assert_int_equal(profile_value(&rig, "samples:count", "abd"), 2);
    assert_ok(profile_decode_text(&rig, SF_STR("\0\0\1\3x;y\4\1\2;z\5\0")));
    assert_int_equal(profile_value(&rig, "samples:count", "x;y"), 4);
    assert_int_equal(profile_value(&rig, "samples:count", "x;y;z"), 5);
}

TEST(pyroscope_tree, what_is_missing_or_left_over_is_an_error_with_its_place)
{
    hint("tree");
    assert_err(profile_decode_text(&rig, SF_STR("\0\0\1\1a\0\2\1b\1\0\1c\2\0x")), SF_ERR_INPUT);
    assert_string_equal(rig.why.text, "tree: goes on behind its last node, at byte 15");
    for (size_t n = 1; n < TREE.len; n++)
        assert_err(profile_decode_text(&rig, sf_str_part(TREE, 0, n)), SF_ERR_INPUT);
    assert_ok(profile_decode_text(&rig, SF_STR_NONE)); /* nothing was sampled */
    assert_err(profile_decode_text(&rig, SF_STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02")),
               SF_ERR_INPUT);
}

TEST(pyroscope_tree, depth_costs_no_stack_of_ours)
{
    struct sf_buf deep = {0};
    unsigned depth = 20000 + test_scaled(180000);
    hint("tree");
    for (unsigned i = 0; i < depth; i++)
        sf_buf_add(&deep, "\1a\1\1", 4);
    sf_buf_add(&deep, "\1z\1\0", 4);
    assert_ok(profile_decode_text(&rig, sf_buf_str(&deep)));
    assert_sum(&rig, "samples:count", depth + 1);
    hint("trie");
    assert_err(profile_decode_text(&rig, sf_buf_str(&deep)), SF_ERR_LIMIT);
    sf_buf_done(&deep);
}

/* The whole path was searched and copied for every value: seconds for a file of 100 KB. */
TEST(pyroscope_tree, the_frames_of_a_path_are_made_once)
{
    struct sf_buf deep = {0};
    hint("trie");
    sf_buf_add(&deep, "\4main\1\1", 7);
    for (unsigned i = 0; i < 1500; i++)
        sf_buf_add(&deep, i % 2 ? "\4b;c\303\1\1" : "\4\251;a;\1\1", 7);
    sf_buf_add(&deep, "\1z\1\0", 4);
    assert_ok(profile_decode_text(&rig, sf_buf_str(&deep)));
    assert_sum(&rig, "samples:count", 1502);
    sf_buf_reset(&deep);
    for (unsigned i = 0; i < 20000; i++)
        sf_buf_add(&deep, "\4a;b;\1\1", 7);
    sf_buf_add(&deep, "\1z\1\0", 4);
    assert_ok(profile_decode_text(&rig, sf_buf_str(&deep)));
    assert_sum(&rig, "samples:count", 20001);
    sf_buf_done(&deep);
}

/* A node may end inside a name, and only have separators. */
TEST(pyroscope_tree, a_trie_gives_the_stacks_of_its_paths)
{
    hint("trie");
    assert_ok(profile_decode_text(&rig, SF_STR("\0\0\1\2;;\1\2\3a;b\2\1\2;c\4\0\2bd\10\0")));
    assert_int_equal(profile_value(&rig, "samples:count", "(unknown)"), 1);
    assert_int_equal(profile_value(&rig, "samples:count", "a;b"), 2);
    assert_int_equal(profile_value(&rig, "samples:count", "a;b;c"), 4);
    assert_int_equal(profile_value(&rig, "samples:count", "bd"), 8);
    assert_sum(&rig, "samples:count", 15);
}

TEST(pyroscope_tree, survives_every_size_of_arena_and_no_heap)
{
    hint("tree");
    profile_try_small_arenas(&rig, TREE, 200);
    hint("trie");
    profile_try_small_arenas(&rig, TRIE, 200);
    profile_rig_init(&rig);
    sf_heap_fail_after(1);
    assert_err(sf_profile_format_decode(TRIE, &rig.hint, &rig.arena, &rig.got, &rig.why),
               SF_ERR_NOMEM);
    sf_heap_fail_after(0);
}

TEST(pyroscope_tree, shared_files_hold_what_is_stated)
{
    static const struct {
        const char *file, *format;
    } files[] = {
        {"pyroscope-raw/checkout.tree.bin", "tree"},
        {"pyroscope-raw/checkout.trie.bin", "trie"},
        {"pyroscope-raw/checkout.lines.txt", "lines"},
    };
    for (size_t i = 0; i < 3; i++) {
        uint32_t deepest = 0;
        hint(files[i].format);
        assert_ok(profile_decode_fixture(&rig, files[i].file));
        assert_sum(&rig, "samples:count", 788);
        for (uint32_t k = 0; k < rig.got.n_stacks; k++)
            deepest = rig.got.stacks[k].n > deepest ? rig.got.stacks[k].n : deepest;
        assert_int_equal(deepest, 33);
        assert_int_equal(rig.got.n_stacks, 32);
    }
    hint("tree");
    assert_err(profile_decode_fixture(&rig, "hostile/pyroscope-tree-name-length-max.bin"),
               SF_ERR_INPUT);
    assert_err(profile_decode_fixture(&rig, "hostile/pyroscope-tree-children-huge.bin"),
               SF_ERR_INPUT);
    hint("trie");
    assert_err(profile_decode_fixture(&rig, "hostile/pyroscope-trie-truncated.bin"), SF_ERR_INPUT);
    profile_rig_done(&rig);
}
