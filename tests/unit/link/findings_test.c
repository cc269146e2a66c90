#include "link/findings.h"

#include "flame/tree_builder.h"
#include "test.h"

static struct sf_arena req;
static struct sf_tree_builder b;

static void begin(void)
{
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 16 << 20));
    sf_tree_builder_init(&b, &req, 0, SF_TREE_COPIES);
}

/* "main;serve;render" and what it cost. */
static void stack(const char *folded, int64_t value)
{
    sf_str rest = sf_str_from(folded), name;
    uint32_t node = 0;
    while (rest.len > 0 && sf_str_split_next(&rest, ';', &name)) {
        struct sf_frame f = {.function = name};
        node = sf_tree_builder_child(&b, node, sf_tree_builder_frame(&b, &f));
    }
    sf_tree_builder_add(&b, node, value, 1);
}

static struct sf_finding_list findings(void)
{
    struct sf_tree tree;
    struct sf_finding_list list;
    assert_ok(sf_tree_builder_take(&b, SF_STR("nanoseconds"), &tree, NULL));
    assert_ok(
        sf_findings_of_tree(&tree, SF_STR("CPU time"), &SF_FINDING_LIMITS, &req, &list, NULL));
    for (uint32_t i = 1; i < list.n; i++)
        assert_true(list.items[i - 1].share >= list.items[i].share);
    sf_tree_builder_done(&b);
    return list;
}

static const struct sf_finding *find(struct sf_finding_list list, enum sf_finding_kind kind)
{
    for (uint32_t i = 0; i < list.n; i++)
        if (list.items[i].kind == kind)
            return list.items + i;
    return NULL;
}

TEST(findings, are_none_in_an_empty_graph)
{
    begin();
    assert_int_equal(findings().n, 0);
}

TEST(findings, are_none_where_work_is_spread)
{
    char name[64];
    begin();
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof(name), "main;step%d;work%d", i, i);
        stack(name, 10);
    }
    assert_int_equal(findings().n, 0);
}

TEST(findings, name_the_function_that_dominates)
{
    begin();
    stack("main;serve;parseRules", 60);
    stack("main;serve", 40);
    struct sf_finding_list list = findings();
    assert_int_equal(list.n, 2);
    assert_str(list.items[0].sentence,
               "parseRules alone takes 60 % of CPU time: optimise that function");
    assert_str(list.items[0].path, "main > serve > parseRules");
    assert_int_equal(list.items[0].value, 60);
    assert_string_equal(sf_finding_kind_name(list.items[0].kind), "hot_function");
}

TEST(findings, shorten_long_paths_to_their_end)
{
    begin();
    stack("a;b;c;d;e;f;g;h", 1);
    assert_str(findings().items[0].path, "... > c > d > e > f > g > h");
}

TEST(findings, see_themes_once_from_their_outermost_frame)
{
    begin();
    stack("main;regex.match;regex.step;regex.step", 20);
    stack("main;json.parse", 5);
    stack("main;a", 25);
    stack("main;b", 25);
    stack("main;c", 25);
    struct sf_finding_list list = findings();
    const struct sf_finding *f = find(list, SF_FINDING_THEME);
    assert_non_null(f);
    assert_str(f->sentence, "pattern matching takes 20 % of CPU time: do less of it, or once");
    assert_str(f->path, "main > regex.match");
}

TEST(findings, see_locks_collector_and_allocator)
{
    begin();
    stack("main;take;pthread_mutex_lock;futex_wait", 30);
    stack("main;runtime.gcBgMarkWorker;scan", 20);
    stack("main;build;operator new(unsigned long);malloc", 15);
    stack("main;rest", 35);
    struct sf_finding_list list = findings();
    assert_str(find(list, SF_FINDING_LOCK)->sentence,
               "waiting for locks takes 30 % of CPU time: reduce lock scope");
    assert_str(find(list, SF_FINDING_GC)->sentence,
               "garbage collection takes 20 % of CPU time: reduce allocations");
    assert_str(find(list, SF_FINDING_ALLOC)->sentence,
               "the allocator takes 15 % of CPU time: reduce allocations");
    assert_str(find(list, SF_FINDING_LOCK)->path, "main > take > pthread_mutex_lock > futex_wait");
}

TEST(findings, see_one_function_under_many_callers)
{
    char name[64];
    begin();
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "main;caller%d;lookup;hash", i);
        stack(name, 3);
        snprintf(name, sizeof(name), "main;caller%d;own%d", i, i);
        stack(name, 7);
        snprintf(name, sizeof(name), "main;caller%d;other%d", i, i);
        stack(name, 10);
    }
    const struct sf_finding *f = find(findings(), SF_FINDING_REPEAT);
    assert_non_null(f);
    assert_str(f->subject, "lookup");
    assert_int_equal(f->count, 5);
    assert_str(f->sentence, "lookup is called from 5 places and takes 15 % of CPU time: "
                            "cache its result or batch the calls");
}

TEST(findings, see_stacks_that_are_too_deep)
{
    char folded[4096] = "main";
    begin();
    for (int i = 0; i < 120; i++)
        strcat(folded, i % 2 ? ";walk" : ";visit");
    stack(folded, 1);
    stack("main;other", 100);
    const struct sf_finding *f = find(findings(), SF_FINDING_DEEP);
    assert_non_null(f);
    assert_int_equal(f->count, 121);
    assert_str(f->sentence, "stacks are up to 121 frames deep, at walk: consider refactoring");
}

TEST(findings, see_equal_sibling_spans)
{
    struct sf_span spans[16] = {{.span_id = 1, .name = SF_STR("price"), .end_ns = 1000}};
    struct sf_span_tree tree;
    struct sf_finding_list list;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 1 << 20));
    for (uint32_t i = 1; i < 16; i++)
        spans[i] = (struct sf_span){.span_id = i + 1,
                                    .parent_id = 1,
                                    .name = i > 12 ? SF_STR("other") : SF_STR("load attribute"),
                                    .start_ns = i * 50,
                                    .end_ns = i * 50 + 40};
    assert_ok(sf_span_tree_build(spans, NULL, 16, &req, &tree, NULL));
    assert_ok(sf_findings_of_spans(&tree, &SF_FINDING_LIMITS, &req, &list, NULL));
    assert_int_equal(list.n, 1);
    assert_int_equal(list.items[0].count, 12);
    assert_int_equal(list.items[0].span, 0);
    assert_str(list.items[0].sentence, "price calls load attribute 12 times, 48 % of its duration: "
                                       "cache or batch them");
}

TEST(findings, say_when_memory_runs_out)
{
    struct sf_tree tree;
    struct sf_finding_list list;
    begin();
    stack("main;a;b;c;d;e;f", 10);
    assert_ok(sf_tree_builder_take(&b, SF_STR("ns"), &tree, NULL));
    sf_tree_builder_done(&b);
    for (size_t cap = 16; cap < 4096; cap += 16) { /* wherever it happens */
        struct sf_arena small;
        assert_true(sf_arena_init(&small, 65536));
        small.cap = cap;
        enum sf_err err = sf_findings_of_tree(&tree, SF_STR("x"), &SF_FINDING_LIMITS, &small, &list,
                                              NULL);
        assert_true(err == SF_ERR_LIMIT || err == SF_ERR_NOMEM || err == SF_OK);
        small.cap = 65536;
        sf_arena_done(&small);
    }
}
