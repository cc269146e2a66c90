#include "link/span_tree.h"

#include "base/hash.h"

#include "test.h"

static struct sf_span span(sf_span_id id, sf_span_id parent, uint64_t start, uint64_t end)
{
    return (struct sf_span){.span_id = id, .parent_id = parent, .start_ns = start, .end_ns = end};
}

static struct sf_arena req;

static struct sf_span_tree build(const struct sf_span *spans, const struct sf_span_origin *origins,
                                 uint32_t n)
{
    struct sf_span_tree t;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 32 << 20));
    assert_ok(sf_span_tree_build(spans, origins, n, &req, &t, NULL));
    return t;
}

TEST(span_tree, of_nothing_is_empty)
{
    struct sf_span_tree t = build(NULL, NULL, 0);
    assert_int_equal(t.n_spans, 0);
    assert_int_equal(sf_span_tree_find(&t, (sf_trace_id){{0}}, 7), SF_NOBODY);
}

TEST(span_tree, ends_local_trees_where_the_process_changes)
{
    struct sf_span spans[] = {span(1, 0, 0, 100), span(2, 1, 10, 90), span(3, 2, 20, 80),
                              span(4, 3, 30, 40)};
    struct sf_span_origin origins[] = {{7, 0}, {7, 0}, {8, 0}, {8, 0}};
    struct sf_span_tree t = build(spans, origins, 4);
    assert_int_equal(t.places[1].local_root, 0);
    assert_int_equal(t.places[1].depth, 1);
    assert_int_equal(t.places[2].local_root, 2);
    assert_int_equal(t.places[3].local_root, 2);
    assert_true(t.places[0].is_local_parent);
    assert_false(t.places[1].is_local_parent); /* its only child ran elsewhere */
}

TEST(span_tree, takes_an_unknown_process_for_another_one)
{
    struct sf_span spans[] = {span(1, 0, 0, 100), span(2, 1, 10, 90)};
    struct sf_span_origin origins[] = {{0, 0}, {0, 0}};
    struct sf_span_tree t = build(spans, origins, 2);
    assert_int_equal(t.places[1].local_root, 1);
    assert_int_equal(t.places[1].parent, 0);
}

TEST(span_tree, counts_overlapping_children_once)
{
    struct sf_span spans[] = {span(1, 0, 0, 100), span(2, 1, 10, 50), span(3, 1, 20, 60),
                              span(4, 1, 90, 140)};
    struct sf_span_tree t = build(spans, NULL, 4);
    assert_int_equal(t.places[0].self_ns, 100 - 50 - 10);
    assert_int_equal(t.places[3].self_ns, 50);
}

TEST(span_tree, counts_time_in_remote_children_as_its_own)
{
    struct sf_span spans[] = {span(1, 0, 0, 100), span(2, 1, 10, 50)};
    struct sf_span_origin origins[] = {{7, 0}, {8, 0}};
    struct sf_span_tree t = build(spans, origins, 2);
    assert_int_equal(t.places[0].self_ns, 100);
}

TEST(span_tree, knows_a_spans_time_outside_all_its_children)
{
    struct sf_arena a;
    struct sf_span_tree t;
    struct sf_span list[] = {{.span_id = 1, .start_ns = 0, .end_ns = 100},
                             {.span_id = 2, .parent_id = 1, .start_ns = 10, .end_ns = 30},
                             {.span_id = 3, .parent_id = 1, .start_ns = 20, .end_ns = 50},
                             {.span_id = 4, .parent_id = 1, .start_ns = 90, .end_ns = 120}};
    const struct sf_span_origin origins[] = {{1, 0}, {1, 0}, {2, 0}, {2, 0}};
    assert_true(sf_arena_init(&a, 1 << 20));
    assert_ok(sf_span_tree_build(list, origins, 4, &a, &t, NULL));
    assert_int_equal(t.places[0].self_ns, 80);
    assert_int_equal(sf_span_tree_own_ns(&t, &a)[0], 50); /* remote ones are not time of its own */
    sf_arena_done(&a);
}

TEST(span_tree, cuts_loops_and_backward_spans)
{
    struct sf_span spans[] = {span(1, 2, 50, 40), span(2, 1, 0, 100), span(3, 3, 0, 5)};
    struct sf_span_tree t = build(spans, NULL, 3);
    assert_int_equal(t.places[0].end_ns, 50);
    assert_int_equal(t.places[0].self_ns, 0);
    assert_int_equal((t.places[0].parent == SF_NOBODY) + (t.places[1].parent == SF_NOBODY), 1);
    assert_int_equal(t.places[2].parent, SF_NOBODY); /* its own parent */
    assert_int_equal(t.first[4] - t.first[3], 2);    /* roots */
}

TEST(span_tree, keeps_traces_apart)
{
    struct sf_span spans[] = {span(1, 0, 0, 9), span(1, 0, 0, 9), span(2, 1, 0, 9)};
    spans[0].trace_id.b[0] = 1;
    spans[1].trace_id.b[0] = 2;
    spans[2].trace_id.b[0] = 2;
    struct sf_span_tree t = build(spans, NULL, 3);
    assert_int_equal(t.places[2].parent, 1);
    assert_int_equal(sf_span_tree_find(&t, spans[0].trace_id, 1), 0);
    assert_int_equal(sf_span_tree_find(&t, spans[0].trace_id, 2), SF_NOBODY);
    assert_int_equal(sf_span_tree_find(&t, (sf_trace_id){{0}}, 1), 0);
}

TEST(span_tree, marks_what_is_below_a_span)
{
    struct sf_span spans[] = {span(1, 0, 0, 9), span(2, 1, 0, 9), span(3, 1, 0, 9),
                              span(4, 2, 0, 9), span(5, 4, 0, 9), span(6, 0, 0, 9)};
    struct sf_span_tree t = build(spans, NULL, 6);
    static const bool BELOW_2[] = {false, true, false, true, true, false};
    assert_memory_equal(sf_span_tree_mark_below(&t, 1, &req), BELOW_2, sizeof(BELOW_2));
    assert_false(sf_span_tree_mark_below(&t, SF_NOBODY, &req)[0]);
}

enum { MANY = 20000 };

static uint64_t steps_of(struct sf_span *spans)
{
    uint64_t before = sf_table_steps;
    struct sf_span_tree t = build(spans, NULL, MANY);
    for (uint32_t i = 1; i < MANY; i++)
        assert_true(t.places[i].parent != SF_NOBODY);
    return sf_table_steps - before;
}

/* A chain of spans; in the first the ids are random, in the second a hash that everybody can
 * compute puts them all into 64 places. In the third all traces have the same ids. */
TEST(span_tree, costs_the_same_for_ids_that_were_made_to_collide)
{
    static struct sf_span spans[3][MANY];
    uint64_t steps[3];
    for (uint32_t kind = 0; kind < 3; kind++) {
        uint64_t id = 1;
        for (uint32_t i = 0; i < MANY; i++, id++) {
            while (kind == 1 && (sf_hash_mix(0, id) >> 32 & 0x3fff) >= 64)
                id++;
            spans[kind][i] = span(kind == 2 ? i % 2 + 1 : id, i ? spans[kind][i - 1].span_id : 0, i,
                                  MANY);
            sf_store_u32le(spans[kind][i].trace_id.b, kind == 2 ? i / 2 + 1 : 1);
        }
        for (uint32_t i = 0; kind == 2 && i < MANY; i++)
            spans[kind][i].parent_id = spans[kind][i ^ 1].span_id;
    }
    for (uint32_t kind = 0; kind < 2; kind++)
        steps[kind] = steps_of(spans[kind]);
    assert_true(steps[1] < 2 * steps[0]);
    steps[2] = sf_table_steps;
    (void)build(spans[2], NULL, MANY);
    assert_true(sf_table_steps - steps[2] < 10 * MANY);
}

TEST(span_tree, says_when_memory_runs_out)
{
    struct sf_span spans[64] = {0};
    struct sf_span_tree t;
    struct sf_why why;
    struct sf_arena small;
    assert_true(sf_arena_init(&small, 1024));
    assert_int_equal(sf_span_tree_build(spans, NULL, 64, &small, &t, &why), SF_ERR_LIMIT);
    assert_string_equal(why.text, "link: no memory for 64 spans");
    sf_arena_done(&small);
}
