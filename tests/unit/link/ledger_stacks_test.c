#include "link/ledger_stacks.h"

#include <string.h>

#include "flame/tree_builder.h"
#include "test.h"

enum { MS = 1000000 };

static struct sf_arena req;
static struct sf_tree_builder b;
static struct sf_ledger_sample samples[8];
static uint32_t nodes[8], n;
static bool is_scaled;
static struct sf_ledger_exact exact;

/* A span of 100 ms with a child here (60 to 70 ms) and one elsewhere (70 to 90 ms). */
static const struct sf_span spans[] = {
    {.span_id = 1, .name = SF_STR("order"), .end_ns = 100 * MS},
    {.span_id = 2, .parent_id = 1, .name = SF_STR("tax"), .start_ns = 60 * MS, .end_ns = 70 * MS},
    {.span_id = 3, .parent_id = 1, .name = SF_STR("pay"), .start_ns = 70 * MS, .end_ns = 90 * MS},
};
static const struct sf_span_origin origins[] = {{7, 1}, {7, 1}, {8, 0}};

static void begin(void)
{
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 16 << 20));
    sf_tree_builder_init(&b, &req, 0, SF_TREE_COPIES);
    exact = sf_ledger_unsaid;
    n = 0;
}

/* "main;lock": a wait from start on, or with no start a sample worth that much. */
static void put(const char *folded, enum sf_ledger_part part, int64_t start_ms, int64_t ms)
{
    sf_str rest = sf_str_from(folded), name;
    uint32_t node = 0;
    while (rest.len > 0 && sf_str_split_next(&rest, ';', &name)) {
        struct sf_frame f = {.function = name};
        node = sf_tree_builder_child(&b, node, sf_tree_builder_frame(&b, &f));
    }
    nodes[n] = node;
    samples[n++] = (struct sf_ledger_sample){.thread = 1,
                                             .start_ns = start_ms * MS,
                                             .length_ns = start_ms >= 0 ? ms * MS : 0,
                                             .worth_ns = ms * MS,
                                             .part = (uint8_t)part,
                                             .has_time = start_ms >= 0,
                                             .is_measured = start_ms >= 0};
}

/* Checks that the total is the ledger's figure; gives what a name has, in ms. */
static int64_t ms_of(enum sf_ledger_part part, const char *name)
{
    struct sf_span_tree tree;
    struct sf_tree stacks;
    struct sf_ledger l;
    struct sf_ledger_stacks out;
    int64_t sum = 0, found = 0;
    assert_ok(sf_span_tree_build(spans, origins, 3, &req, &tree, NULL));
    assert_ok(sf_ledger_make(&tree, 0, samples, n, &exact, &req, &l, NULL));
    assert_ok(sf_tree_builder_take(&b, SF_STR("ns"), &stacks, NULL));
    struct sf_ledger_stacks_input in = {.spans = &tree,
                                        .ledger = &l,
                                        .samples = samples,
                                        .nodes = nodes,
                                        .n_samples = n,
                                        .stacks = &stacks,
                                        .part = part,
                                        .is_scaled = is_scaled};
    assert_ok(sf_ledger_stacks_make(&in, &req, &out, NULL));
    for (uint32_t i = 0; i < out.tree.n_nodes; i++) {
        sum += out.tree.nodes[i].self;
        if (i > 0 &&
            sf_str_eq(out.tree.frames[out.tree.nodes[i].frame].function, sf_str_from(name)))
            found += out.tree.nodes[i].self;
    }
    assert_int_equal(sum, l.ns[part]);
    assert_int_equal(out.tree.total, l.ns[part]);
    return found / MS;
}

TEST(ledger_stacks, show_each_wait_with_its_length)
{
    begin();
    put("main;load;mutex", SF_PART_LOCK, 10, 5);
    put("main;save;mutex2", SF_PART_LOCK, 20, 15);
    put("main;save;fsync", SF_PART_DISK, 40, 10);
    put("main;work", SF_PART_CPU, -1, 20);
    assert_int_equal(ms_of(SF_PART_LOCK, "mutex"), 5);
    assert_int_equal(ms_of(SF_PART_LOCK, "mutex2"), 15);
    assert_int_equal(ms_of(SF_PART_LOCK, "fsync"), 0);
    assert_int_equal(ms_of(SF_PART_DISK, "fsync"), 10);
    assert_int_equal(ms_of(SF_PART_CPU, "work"), 20);
    assert_int_equal(ms_of(SF_PART_SLEEP, "work"), 0);
    sf_tree_builder_done(&b);
}

TEST(ledger_stacks, clip_waits_to_the_span)
{
    begin();
    put("main;mutex", SF_PART_LOCK, 95, 50);
    assert_int_equal(ms_of(SF_PART_LOCK, "mutex"), 5);
    sf_tree_builder_done(&b);
}

TEST(ledger_stacks, are_cut_in_proportion_where_others_come_first)
{
    begin();
    put("main;mutex", SF_PART_LOCK, 0, 30);
    put("main;mutex2", SF_PART_LOCK, 30, 10);
    put("main;gc", SF_PART_GC, 0, 20); /* half of both waits together */
    assert_int_equal(ms_of(SF_PART_LOCK, "mutex"), 15);
    assert_int_equal(ms_of(SF_PART_LOCK, "mutex2"), 5);
    sf_tree_builder_done(&b);
}

TEST(ledger_stacks, name_what_has_no_stack)
{
    begin();
    exact.ns[SF_PART_CPU] = 50 * MS;
    put("main;work", SF_PART_CPU, -1, 20);
    assert_int_equal(ms_of(SF_PART_CPU, "work"), 20);
    assert_int_equal(ms_of(SF_PART_CPU, "(without a stack)"), 30);
    assert_int_equal(ms_of(SF_PART_UNKNOWN, "(without a stack)"), 20);
    exact.ns[SF_PART_CPU] = 10 * MS;
    assert_int_equal(ms_of(SF_PART_CPU, "work"), 10);
    sf_tree_builder_done(&b);
}

TEST(ledger_stacks, stand_for_the_spans_figure_when_they_are_enough)
{
    begin();
    exact.ns[SF_PART_CPU] = 50 * MS;
    put("main;work", SF_PART_CPU, -1, 15);
    put("main;rest", SF_PART_CPU, -1, 5);
    is_scaled = true;
    assert_int_equal(ms_of(SF_PART_CPU, "work"), 37); /* 37.5 */
    assert_int_equal(ms_of(SF_PART_CPU, "(without a stack)"), 0);
    is_scaled = false;
    sf_tree_builder_done(&b);
}

TEST(ledger_stacks, follow_the_spans_thread)
{
    begin();
    put("main;work", SF_PART_CPU, -1, 20);
    put("main;helper", SF_PART_CPU, -1, 20);
    samples[1].thread = 2;
    assert_int_equal(ms_of(SF_PART_CPU, "work"), 20);
    assert_int_equal(ms_of(SF_PART_CPU, "helper"), 0);
    sf_tree_builder_done(&b);
}

TEST(ledger_stacks, draw_children_by_name)
{
    begin();
    assert_int_equal(ms_of(SF_PART_CHILD, "tax"), 10);
    assert_int_equal(ms_of(SF_PART_CHILD, "pay"), 0);
    assert_int_equal(ms_of(SF_PART_REMOTE, "pay"), 20);
    sf_tree_builder_done(&b);
}

TEST(ledger_stacks, say_when_memory_runs_out)
{
    struct sf_span_tree tree;
    struct sf_tree stacks;
    struct sf_ledger l;
    struct sf_ledger_stacks out;
    begin();
    put("main;load;mutex", SF_PART_LOCK, 10, 5);
    assert_ok(sf_span_tree_build(spans, origins, 3, &req, &tree, NULL));
    assert_ok(sf_ledger_make(&tree, 0, samples, n, &exact, &req, &l, NULL));
    assert_ok(sf_tree_builder_take(&b, SF_STR("ns"), &stacks, NULL));
    struct sf_ledger_stacks_input in = {&tree, 0,       &l,           samples, nodes,
                                        n,     &stacks, SF_PART_LOCK, false};
    struct sf_arena small;
    for (size_t cap = 16; cap < 1024; cap += 16) {
        assert_true(sf_arena_init(&small, 65536));
        small.cap = cap;
        enum sf_err err = sf_ledger_stacks_make(&in, &small, &out, NULL);
        assert_true(err == SF_ERR_LIMIT || err == SF_ERR_NOMEM || err == SF_OK);
        small.cap = 65536;
        sf_arena_done(&small);
    }
    sf_tree_builder_done(&b);
}
