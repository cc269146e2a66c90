#include "render/flame_text.h"

#include <stdlib.h>

#include "base/text.h"
#include "folded_tree.h"
#include "golden.h"

static struct sf_arena req;

static char *draw(const struct sf_tree *t, size_t columns, double min_share, struct sf_buf *out)
{
    struct sf_flame_text f = {
        .tree = t, .order = SF_TREE_AS_SEEN, .columns = columns, .min_share = min_share};
    struct sf_flame_text_rest rest;
    sf_buf_reset(out);
    assert_ok(sf_flame_text_render(&f, req, out, &rest, NULL));
    return (char *)out->p;
}

static void read_golden(const char *name, struct sf_buf *out)
{
    char path[512], piece[4096];
    size_t n;
    FILE *file;
    snprintf(path, sizeof(path), "%s/tests/golden/%s", getenv("SPANFLAME_SOURCE"), name);
    file = fopen(path, "rb");
    assert_non_null(file);
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
        sf_buf_add(out, piece, n);
    fclose(file);
}

static size_t count(const char *text, const char *needle)
{
    size_t n = 0;
    for (; (text = strstr(text, needle)); text++)
        n++;
    return n;
}

TEST(flame_text, draws_what_people_draw_by_hand)
{
    struct sf_buf text = {0}, out = {0};
    struct sf_tree t;
    assert_true(sf_arena_init(&req, 1 << 20));
    read_golden("flame_text.folded", &text);
    t = folded_tree(sf_buf_str(&text), SF_STR("count"), &req);
    draw(&t, 88, 0.01, &out);
    assert_golden("flame_text.txt", &out);
    sf_buf_done(&text);
    sf_buf_done(&out);
    sf_arena_done(&req);
}

TEST(flame_text, marks_at_most_five_frames_with_a_tenth_of_the_view_in_themselves)
{
    struct sf_buf out = {0};
    struct sf_tree t;
    const char *text;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = folded_tree(SF_STR("a;b 101\na;c 100\na;d 99\na;e 110\na;f 120\na;g 130\na;h 140\na 200\n"),
                    SF_STR("count"), &req);
    draw(&t, 100, 0, &out);
    sf_buf_add_u8(&out, 0);
    text = (char *)out.p;
    assert_int_equal(count(text, "<-- HOT PATH"), 5); /* a, h, g, f and e; b and c come too late */
    assert_non_null(strstr(strstr(text, "\n  e "), "<-- HOT PATH"));
    t = folded_tree(SF_STR("a 90\nb 9\nc 1\n"), SF_STR("count"), &req);
    draw(&t, 100, 0, &out);
    sf_buf_add_u8(&out, 0);
    assert_int_equal(count((char *)out.p, "<-- HOT PATH"), 1);
    /* walk calls itself: 8 % at each depth, half of it all. */
    t = folded_tree(SF_STR("main;walk 8\nmain;walk;visit;walk 8\nmain;walk;visit;walk;walk 8\n"
                           "main;walk;walk 8\nmain;walk;walk;walk 8\nmain;walk;walk;walk;walk 8\n"
                           "main;a 9\nmain;b 9\nmain;c 9\nmain;d 9\nmain;e 9\nmain;f 7\n"),
                    SF_STR("count"), &req);
    draw(&t, 100, 0, &out);
    sf_buf_add_u8(&out, 0);
    assert_int_equal(count((char *)out.p, "<-- HOT PATH"), 1);
    assert_non_null(strstr(strstr((char *)out.p, "\n  walk "), "<-- HOT PATH"));
    assert_null(strstr(strstr((char *)out.p, "\n    "), "<-- HOT PATH"));
    sf_buf_done(&out);
    sf_arena_done(&req);
}

TEST(flame_text, fits_every_terminal_and_stays_readable_in_deep_stacks)
{
    struct sf_buf folded = {0}, out = {0};
    struct sf_tree t;
    assert_true(sf_arena_init(&req, 1 << 22));
    for (int i = 0; i < 200; i++)
        sf_buf_print(&folded, "%sdeep_function_%d_with_a_name_that_is_quite_long", i ? ";" : "", i);
    sf_buf_print(&folded, " 7\nhot 93\n");
    t = folded_tree(sf_buf_str(&folded), SF_STR("count"), &req);
    for (size_t columns = 40; columns <= 200; columns += 7) {
        sf_str rest, line;
        draw(&t, columns, 0, &out);
        rest = sf_buf_str(&out);
        while (sf_str_split_next(&rest, '\n', &line))
            assert_true(sf_utf8_width(line) <= columns);
    }
    sf_buf_add_u8(&out, 0);
    assert_non_null(strstr((char *)out.p, "199: deep_function_199"));
    sf_buf_done(&folded);
    sf_buf_done(&out);
    sf_arena_done(&req);
}

TEST(flame_text, lets_no_name_reach_the_terminal_unguarded)
{
    struct sf_buf out = {0};
    struct sf_tree t;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = folded_tree(SF_STR("evil\033]0;x\007 1\n\xff\xfe 1\n"), SF_STR("count"), &req);
    draw(&t, 80, 0, &out);
    assert_null(memchr(out.p, '\033', out.len));
    assert_null(memchr(out.p, '\007', out.len));
    assert_true(sf_utf8_is_valid(sf_buf_str(&out)));
    sf_buf_done(&out);
    sf_arena_done(&req);
}

TEST(flame_text, draws_nothing_of_nothing_and_counts_what_it_hides)
{
    struct sf_flame_text f = {.columns = 80, .min_share = 0.05, .has_color = true};
    struct sf_flame_text_rest rest;
    struct sf_buf out = {0};
    struct sf_tree t;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = folded_tree(SF_STR_NONE, SF_STR("count"), &req);
    f.tree = &t;
    assert_ok(sf_flame_text_render(&f, req, &out, &rest, NULL));
    assert_int_equal(out.len, 0);
    t = folded_tree(SF_STR("a;b;c 1\na;d 99\n"), SF_STR("count"), &req);
    assert_ok(sf_flame_text_render(&f, req, &out, &rest, NULL));
    assert_int_equal(rest.n_hidden, 2);
    sf_buf_done(&out);
    sf_arena_done(&req);
}
