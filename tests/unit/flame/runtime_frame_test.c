#include "flame/runtime_frame.h"

#include "flame/tree_builder.h"
#include "test.h"

static struct sf_arena req;
static struct sf_tree_builder b;

static uint32_t stack(const char *folded, int64_t value)
{
    sf_str rest = sf_str_from(folded), name;
    uint32_t node = 0;
    while (sf_str_split_next(&rest, ';', &name))
        node = sf_tree_builder_child(
            &b, node, sf_tree_builder_frame(&b, &(struct sf_frame){.function = name}));
    sf_tree_builder_add(&b, node, value, 1);
    return node;
}

TEST(runtime_frame, knows_the_example_of_every_rule)
{
    for (uint32_t i = 0; i < sf_runtime_n_rules; i++) {
        const struct sf_runtime_rule *r = &sf_runtime_rules[i];
        for (unsigned kind = 0; kind < SF_FRAME_MARKER; kind++) {
            struct sf_frame f = {.function = sf_str_from(r->example), .kind = (uint8_t)kind};
            if (kind == SF_FRAME_UNKNOWN || r->kinds >> kind & 1)
                assert_int_not_equal(sf_runtime_frame_of(&f), SF_RUNTIME_NOT);
        }
    }
}

TEST(runtime_frame, leaves_what_people_write_alone)
{
    static const char *const names[] = {"main",
                                        "main.handle",
                                        "k8s.io/apimachinery/pkg/runtime.(*Scheme).New",
                                        "github.com/shop/runtime.Run",
                                        "com/shop/Game.run",
                                        "G1Shop.price",
                                        "VMachine.run",
                                        "PyShop.total",
                                        "gcd",
                                        "memmove",
                                        "malloc",
                                        "json.Unmarshal",
                                        "parseRules",
                                        "sqlite3WalFrames"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(sf_runtime_frame_of(&(struct sf_frame){.function = sf_str_from(names[i])}),
                         SF_RUNTIME_NOT);
    /* Names of one language say nothing in another. */
    assert_int_equal(sf_runtime_frame_of(&(struct sf_frame){.function = SF_STR("runtime.Run"),
                                                            .kind = SF_FRAME_PYTHON}),
                     SF_RUNTIME_NOT);
}

TEST(runtime_frame, gives_time_to_who_called_it_or_to_nobody)
{
    struct sf_tree t, out;
    assert_true(sf_arena_init(&req, 1 << 20));
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    uint32_t alloc = stack("runtime.goexit;main.handle;runtime.makeslice;runtime.mallocgc", 5);
    uint32_t worker = stack("runtime.gcBgMarkWorker;runtime.systemstack;scanAll", 7);
    uint32_t own = stack("runtime.goexit;main.handle", 3);
    uint32_t callee = stack("runtime.goexit;main.handle;runtime.call64;main.work", 2);
    uint32_t thread = stack("GangWorker::loop;OopIterate", 4); /* below a collector: none of ours */
    assert_ok(sf_tree_builder_take(&b, SF_STR("count"), &t, NULL));
    sf_tree_builder_done(&b);
    const uint32_t *owners = sf_runtime_frame_owners(&t, &req);
    assert_non_null(owners);
    assert_int_equal(owners[alloc], own);
    assert_int_equal(owners[own], own);
    assert_int_equal(owners[callee], callee);
    assert_int_equal(owners[worker], 0);
    assert_int_equal(owners[thread], 0);
    assert_ok(sf_runtime_frame_give(&t, &req, &out, NULL));
    assert_int_equal(out.nodes[own].self, 8);
    assert_int_equal(out.nodes[alloc].self, 0);
    assert_int_equal(out.nodes[0].self, 11);
    assert_int_equal(out.total, t.total);
    sf_arena_done(&req);
}
