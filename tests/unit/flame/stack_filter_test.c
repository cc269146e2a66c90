#include "flame/stack_filter.h"

#include "support/stack_tree.h"

static const struct stack stacks[] = {{{"main", "a", "x"}, 5, 0},
                                      {{"main", "b", "x"}, 7, 0},
                                      {{"main", "b"}, 2, 0},
                                      {{"main"}, 1, 0},
                                      {{"b", "main"}, 9, 0}};

static struct sf_tree filtered(const struct sf_tree *t, const struct sf_stack_ask *ask)
{
    struct sf_stack_filter *f = NULL;
    struct sf_tree out = *t;
    assert_ok(sf_stack_filter_new(ask, &f, NULL));
    if (f)
        assert_ok(sf_stack_filter_tree(f, t, &req, &out, NULL));
    sf_stack_filter_free(f);
    return out;
}

TEST(stack_filter, keeps_whole_stacks_that_begin_so)
{
    const sf_str names[] = {SF_STR("main"), SF_STR("b")};
    struct sf_tree t, out;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = tree(stacks, 5);
    out = filtered(&t, &(struct sf_stack_ask){.sites = names, .n_sites = 2});
    expect(&out, "main;b 2 main;b;x 7 ");
    assert_int_equal(out.total, 9);
    assert_int_equal(out.n_nodes, 4); /* no way that leads nowhere */
    out = filtered(&t, &(struct sf_stack_ask){.sites = names, .n_sites = 1});
    assert_int_equal(out.total, 15);
    out = filtered(&t, &(struct sf_stack_ask){.sites = &names[1], .n_sites = 1});
    expect(&out, "b;main 9 ");
    out = filtered(&t, &(struct sf_stack_ask){0});
    assert_int_equal(out.total, 24);
    sf_arena_done(&req);
}

TEST(stack_filter, is_empty_where_nothing_begins_so)
{
    const sf_str names[] = {SF_STR("x")};
    struct sf_tree t, out;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = tree(stacks, 5);
    out = filtered(&t, &(struct sf_stack_ask){.sites = names, .n_sites = 1});
    assert_int_equal(out.n_nodes, 1);
    assert_int_equal(out.total, 0);
    sf_arena_done(&req);
}

/* Pyroscope's own cases. */
TEST(stack_filter, chooses_stacks_by_the_frames_they_hold)
{
    static const struct stack five[] = {{{"root", "a"}, 1, 0},
                                        {{"root", "a", "b"}, 1, 0},
                                        {{"root", "b"}, 1, 0},
                                        {{"root", "forbidden"}, 1, 0},
                                        {{"root", "a", "forbidden"}, 1, 0}};
    static const sf_str sites[] = {SF_STR("root"), SF_STR("a")};
    static const struct {
        struct sf_stack_term terms[2];
        size_t n_terms, n_sites;
        int64_t want;
    } cases[] = {
        {{{SF_STR("a"), SF_STACK_HAS}}, 1, 0, 3},
        {{{SF_STR("a"), SF_STACK_HAS}, {SF_STR("b"), SF_STACK_HAS}}, 2, 0, 1},
        {{{SF_STR("forbidden"), SF_STACK_LACKS}}, 1, 0, 3},
        {{{SF_STR("a"), SF_STACK_HAS}, {SF_STR("forbidden"), SF_STACK_LACKS}}, 2, 0, 2},
        {{{SF_STR("missing"), SF_STACK_HAS}}, 1, 0, 0},
        {{{SF_STR("^a$"), SF_STACK_HAS_PATTERN}}, 1, 0, 3},
        {{{SF_STR("forbid"), SF_STACK_LACKS_PATTERN}}, 1, 0, 3},
        {{{SF_STR("^a$"), SF_STACK_HAS_PATTERN}, {SF_STR("^b$"), SF_STACK_HAS_PATTERN}}, 2, 0, 1},
        {{{SF_STR("a"), SF_STACK_HAS}, {SF_STR("^b$"), SF_STACK_HAS_PATTERN}}, 2, 0, 1},
        {{{SF_STR("b"), SF_STACK_HAS}}, 1, 2, 1},
        {{{SF_STR("forbid"), SF_STACK_HAS}}, 1, 0, 0}, /* a name is a whole name */
    };
    struct sf_tree t, out;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = tree(five, 5);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_stack_ask ask = {sites, cases[i].n_sites, cases[i].terms, cases[i].n_terms};
        out = filtered(&t, &ask);
        assert_int_equal(out.total, cases[i].want);
    }
    sf_arena_done(&req);
}

TEST(stack_filter, never_chooses_a_sample_without_a_stack)
{
    static const struct stack two[] = {{{NULL}, 4, 0}, {{"a"}, 1, 0}};
    const struct sf_stack_term lacks = {SF_STR("x"), SF_STACK_LACKS};
    struct sf_tree t, out;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = tree(two, 2);
    assert_int_equal(t.total, 5);
    out = filtered(&t, &(struct sf_stack_ask){.terms = &lacks, .n_terms = 1});
    assert_int_equal(out.total, 1);
    sf_arena_done(&req);
}

TEST(stack_filter, says_which_pattern_is_none)
{
    struct sf_stack_term terms[SF_STACK_TERMS + 1] = {{SF_STR("["), SF_STACK_LACKS_PATTERN}};
    struct sf_stack_filter *f = NULL;
    struct sf_why why = {0};
    assert_err(sf_stack_filter_new(&(struct sf_stack_ask){.terms = terms, .n_terms = 1}, &f, &why),
               SF_ERR_INPUT);
    assert_non_null(strstr(why.text, "invalid exclude function name regex \"[\": "));
    assert_err(sf_stack_filter_new(
                   &(struct sf_stack_ask){.terms = terms, .n_terms = SF_STACK_TERMS + 1}, &f, &why),
               SF_ERR_LIMIT);
    assert_null(f);
}

TEST(stack_filter, finds_packages)
{
    static const struct stack own[] = {{{"main.run", "encoding/json.(*Decoder).Decode", "x"}, 5, 0},
                                       {{"main.run", "net/http.serve"}, 7, 0}};
    const struct sf_stack_term term = {SF_STR("^encoding/json$"), SF_STACK_HAS_PACKAGE};
    const struct sf_stack_term bad = {SF_STR("json("), SF_STACK_HAS_PACKAGE};
    struct sf_stack_filter *f = NULL;
    struct sf_why why = {0};
    struct sf_tree t, out;
    size_t at;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = tree(own, 2);
    out = filtered(&t, &(struct sf_stack_ask){.terms = &term, .n_terms = 1});
    assert_int_equal(out.total, 5);
    assert_int_equal(
        sf_stack_filter_new(&(struct sf_stack_ask){.terms = &bad, .n_terms = 1}, &f, &why),
        SF_ERR_INPUT);
    assert_true(sf_str_find(sf_str_from(why.text), SF_STR("package regex"), &at));
    sf_arena_done(&req);
}
