#include "flame/library_frame.h"

#include "flame/tree_builder.h"
#include "test.h"

static struct sf_frame example_of(const struct sf_library_rule *r, unsigned kind)
{
    sf_str text = sf_str_from(r->example);
    struct sf_frame f = {.function = SF_STR("anything"), .kind = (uint8_t)kind};
    switch (r->where) {
    case SF_LIBRARY_MODULE: f.module = text; break;
    case SF_LIBRARY_SOURCE: f.file = text; break;
    case SF_LIBRARY_FUNCTION:
    case SF_LIBRARY_NAMED: f.function = text; break;
    }
    return f;
}

TEST(library_frame, knows_the_example_of_every_rule)
{
    for (uint32_t i = 0; i < sf_library_n_rules; i++) {
        const struct sf_library_rule *r = &sf_library_rules[i];
        for (unsigned kind = 0; kind < SF_FRAME_MARKER; kind++) {
            struct sf_frame f = example_of(r, kind);
            if (r->kinds == 0 || kind == SF_FRAME_UNKNOWN || r->kinds >> kind & 1)
                assert_true(sf_library_frame_is(&f));
        }
    }
}

TEST(library_frame, leaves_the_service_to_itself)
{
    static const struct sf_frame own[] = {
        {.function = SF_STR("findBoxes"), .module = SF_STR("/srv/shop_inventory")},
        {.function = SF_STR("main.handle"), .kind = SF_FRAME_GO},
        {.function = SF_STR("github.com/shop/prices.Load"),
         .file = SF_STR("/src/prices/load.go"),
         .kind = SF_FRAME_GO},
        {.function = SF_STR("shop/net.Dial"), .kind = SF_FRAME_GO},
        {.function = SF_STR("com/shop/Price.of"), .kind = SF_FRAME_JVM},
        {.function = SF_STR("handle"), .file = SF_STR("/app/shop.py"), .kind = SF_FRAME_PYTHON},
        {.function = SF_STR("freeBoxes"), .kind = SF_FRAME_NATIVE},
        {.function = SF_STR("a"), .module = SF_STR("/srv/app.sock"), .kind = SF_FRAME_NATIVE},
        {.function = SF_STR("Shop.Price"), .kind = SF_FRAME_DOTNET}};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        assert_false(sf_library_frame_is(&own[i]));
}

TEST(library_frame, is_called_as_people_call_it)
{
    static const struct {
        struct sf_frame frame;
        const char *name;
    } cases[] = {
        {{.function = SF_STR("x"), .module = SF_STR("/lib/libsqlite3.so.0")}, "SQLite"},
        {{.function = SF_STR("x"), .module = SF_STR("/opt/libprices.so.2")}, "libprices"},
        {{.function = SF_STR("do_syscall_64"), .kind = SF_FRAME_KERNEL}, "the kernel"},
        {{.function = SF_STR("pthread_mutex_lock"), .module = SF_STR("/usr/lib/libspanflame.so.1")},
         "the C library"},
        {{.function = SF_STR("sample_take"), .module = SF_STR("/usr/lib/libspanflame.so.1")},
         "the profiler"},
        {{.function = SF_STR("encoding/json.(*decodeState).object"), .kind = SF_FRAME_GO},
         "encoding/json"},
        {{.function = SF_STR("regexp.(*Regexp).doExecute"), .kind = SF_FRAME_GO}, "regexp"},
        {{.function = SF_STR("java/util/HashMap.get"), .kind = SF_FRAME_JVM}, "the JDK"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_true(sf_str_eq(sf_library_frame_name(&cases[i].frame), sf_str_from(cases[i].name)));
}

TEST(library_frame, gives_its_time_to_the_nearest_frame_of_the_service)
{
    struct sf_arena req = {0};
    struct sf_tree_builder b;
    struct sf_tree t;
    assert_true(sf_arena_init(&req, 1 << 20));
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    struct sf_frame libc = {.function = SF_STR("start_thread"), .module = SF_STR("libc.so.6")};
    struct sf_frame own = {.function = SF_STR("find"), .module = SF_STR("shop")};
    struct sf_frame sql = {.function = SF_STR("step"), .module = SF_STR("libsqlite3.so.0")};
    uint32_t thread = sf_tree_builder_child(&b, 0, sf_tree_builder_frame(&b, &libc));
    uint32_t find = sf_tree_builder_child(&b, thread, sf_tree_builder_frame(&b, &own));
    uint32_t step = sf_tree_builder_child(&b, find, sf_tree_builder_frame(&b, &sql));
    uint32_t inner = sf_tree_builder_child(&b, step, sf_tree_builder_frame(&b, &libc));
    assert_ok(sf_tree_builder_take(&b, SF_STR_NONE, &t, NULL));
    const uint32_t *owners = sf_library_frame_owners(&t, &req);
    assert_non_null(owners);
    assert_int_equal(owners[thread], thread); /* no other code is there */
    assert_int_equal(owners[find], find);
    assert_int_equal(owners[step], find);
    assert_int_equal(owners[inner], find);
    sf_tree_builder_done(&b);
    sf_arena_done(&req);
}
