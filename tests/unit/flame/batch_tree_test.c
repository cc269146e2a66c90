#include "flame/batch_tree.h"

#include "test.h"

static struct sf_batch_type type(const char *id)
{
    sf_str rest = sf_str_from(id);
    struct sf_batch_type t = {0};
    sf_str *parts[] = {&t.type.name, &t.type.sample_type, &t.type.sample_unit, &t.type.period_type,
                       &t.type.period_unit};
    for (size_t i = 0; i < 5; i++)
        sf_str_split_next(&rest, ':', parts[i]);
    return t;
}

static int choose(const struct sf_batch_type *types, uint32_t n, const char *text)
{
    uint32_t at;
    struct sf_why why;
    return sf_batch_tree_choose(types, n, sf_str_from(text), &at, &why) ? -1 : (int)at;
}

TEST(batch_tree, finds_the_type_somebody_means)
{
    struct sf_batch_type cpu[] = {type("process_cpu:samples:count:cpu:nanoseconds"),
                                  type("process_cpu:cpu:nanoseconds:cpu:nanoseconds")};
    struct sf_batch_type heap[] = {type("memory:alloc_objects:count:space:bytes"),
                                   type("memory:alloc_space:bytes:space:bytes"),
                                   type("memory:inuse_objects:count:space:bytes"),
                                   type("memory:inuse_space:bytes:space:bytes")};
    assert_int_equal(choose(cpu, 2, ""), 1);
    assert_int_equal(choose(cpu, 2, "cpu"), 1);
    assert_int_equal(choose(cpu, 2, "samples"), 0);
    assert_int_equal(choose(cpu, 2, "process_cpu:cpu:nanoseconds"), 1); /* any period */
    assert_int_equal(choose(cpu, 2, "process_cpu:samples:count:cpu:nanoseconds"), 0);
    assert_int_equal(choose(cpu, 2, "process_cpu:cpu:bytes"), -1);
    assert_int_equal(choose(cpu, 2, "heap"), -1);
    /* Wall clock alone: its time, not the number of its samples. */
    struct sf_batch_type wall[2] = {{.type = {SF_STR("wall"), SF_STR("samples"), SF_STR("count"),
                                              SF_STR("wall"), SF_STR("nanoseconds")}},
                                    {.type = {SF_STR("wall"), SF_STR("wall"), SF_STR("nanoseconds"),
                                              SF_STR("wall"), SF_STR("nanoseconds")}}};
    assert_int_equal(choose(wall, 2, ""), 1);
    assert_int_equal(choose(wall, 1, ""), 0);
    assert_int_equal(choose(heap, 4, ""), 3);
    assert_int_equal(choose(heap, 4, "heap"), 3);
    assert_int_equal(choose(heap, 4, "alloc"), 1);
    assert_int_equal(choose(heap, 4, "alloc_objects"), 0);
    assert_int_equal(choose(heap, 4, "memory"), 3);
}

TEST(batch_tree, names_what_there_is_when_a_type_is_not)
{
    struct sf_batch_type cpu[] = {type("process_cpu:cpu:nanoseconds:cpu:nanoseconds")};
    struct sf_why why;
    uint32_t at;
    assert_err(sf_batch_tree_choose(cpu, 1, SF_STR("heep"), &at, &why), SF_ERR_NOT_FOUND);
    assert_string_equal(why.text, "no profile type \"heep\" here; there is process_cpu:cpu");
    assert_err(sf_batch_tree_choose(NULL, 0, SF_STR_NONE, &at, &why), SF_ERR_NOT_FOUND);
}

TEST(batch_tree, inserts_stacks_root_first_with_inlined_calls_unfolded)
{
    struct sf_mapping mapping = {.file = SF_STR("app")};
    struct sf_function functions[] = {{.name = SF_STR("main")},
                                      {.name = SF_STR("outer"), .file = SF_STR("o.c")},
                                      {.system_name = SF_STR("_Zinner")}};
    struct sf_line main_line = {.function = 0, .line = 3},
                   inlined[] = {{.function = 2}, {.function = 1, .line = 9}};
    struct sf_location locations[] = {{.mapping = SF_NONE, .lines = &main_line, .n_lines = 1},
                                      {.mapping = SF_NONE, .lines = inlined, .n_lines = 2},
                                      {.mapping = 0, .addr = 0x40}};
    uint32_t deep[] = {1, 0}, raw[] = {2, 0};
    struct sf_stack stacks[] = {{deep, 2}, {raw, 2}, {NULL, 0}};
    struct sf_series series[] = {{.type = type("p:cpu:nanoseconds:cpu:nanoseconds").type},
                                 {.type = type("p:samples:count:cpu:nanoseconds").type},
                                 {.type = type("p:cpu:nanoseconds:cpu:nanoseconds").type}};
    struct sf_sample samples[] = {{.series = 0, .stack = 0, .value = 5, .count = 1},
                                  {.series = 1, .stack = 0, .value = 100, .count = 1},
                                  {.series = 2, .stack = 0, .value = 6, .count = 2},
                                  {.series = 0, .stack = 1, .value = 1, .count = 1},
                                  {.series = 0, .stack = 2, .value = 2, .count = 1}};
    struct sf_profile_batch batch = {.mappings = &mapping,
                                     .functions = functions,
                                     .locations = locations,
                                     .stacks = stacks,
                                     .series = series,
                                     .samples = samples,
                                     .n_mappings = 1,
                                     .n_functions = 3,
                                     .n_locations = 3,
                                     .n_stacks = 3,
                                     .n_series = 3,
                                     .n_samples = 5};
    const struct sf_batch_type *types;
    struct sf_arena req = {0};
    struct sf_tree t;
    uint32_t n;
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_ok(sf_batch_tree_types(&batch, &req, &types, &n, NULL));
    assert_int_equal(n, 2);
    assert_int_equal(types[0].total, 14);
    assert_int_equal(types[0].n_samples, 5);
    assert_int_equal(types[1].total, 100);
    assert_ok(sf_batch_tree(&batch, &types[0].type, &req, &t, NULL));
    assert_int_equal(t.total, 14);
    assert_int_equal(t.n_samples, 5);
    assert_int_equal(t.n_nodes, 5); /* root, main, outer, _Zinner, app!0x40 */
    assert_int_equal(t.nodes[0].self, 2);
    assert_str(t.frames[t.nodes[1].frame].function, "main");
    assert_str(t.frames[t.nodes[2].frame].function, "outer");
    assert_int_equal(t.frames[t.nodes[2].frame].line, 9);
    assert_str(t.frames[t.nodes[3].frame].function, "_Zinner");
    assert_int_equal(t.nodes[3].self, 11);
    assert_int_equal(t.frames[t.nodes[4].frame].file_off, 0x40);
    assert_str(t.frames[t.nodes[4].frame].module, "app");
    assert_str(t.unit, "nanoseconds");
    sf_arena_done(&req);
}
