#include "flame/frame_name.h"

#include "test.h"

static const char *name_of(struct sf_frame f, enum sf_frame_group by)
{
    static char text[200];
    struct sf_arena req = {0};
    sf_str name;
    assert_true(sf_arena_init(&req, 1 << 16));
    assert_true(sf_frame_name(&f, by, &req, &name));
    snprintf(text, sizeof(text), "%.*s", SF_STR_ARG(name));
    sf_arena_done(&req);
    return text;
}

#define FUNCTION(name, of_kind) ((struct sf_frame){.function = SF_STR(name), .kind = (of_kind)})

TEST(frame_name, says_where_a_nameless_frame_is)
{
    struct sf_frame f = {.module = SF_STR("/usr/lib/libc.so.6"), .file_off = 0x1f};
    assert_string_equal(name_of(f, SF_GROUP_FUNCTION), "libc.so.6 (no symbols)");
    assert_string_equal(name_of(f, SF_GROUP_LINE), "libc.so.6!0x1f");
    f.module = SF_STR_NONE;
    assert_string_equal(name_of(f, SF_GROUP_FUNCTION), "0x1f");
    f.file_off = 0;
    assert_string_equal(name_of(f, SF_GROUP_FUNCTION), "(unknown)");
    assert_string_equal(name_of(f, SF_GROUP_FILE), "(unknown)");
    assert_string_equal(name_of(f, SF_GROUP_PACKAGE), "(unknown)");
}

TEST(frame_name, adds_the_line_when_asked)
{
    struct sf_frame f = {.function = SF_STR("run"), .file = SF_STR("/src/a.c"), .line = 7};
    assert_string_equal(name_of(f, SF_GROUP_LINE), "run a.c:7");
    assert_string_equal(name_of(f, SF_GROUP_FILE), "/src/a.c");
}

TEST(frame_name, finds_packages_in_names_of_each_language)
{
    struct sf_frame f = {.function = SF_STR("run"), .file = SF_STR("/app/orders/views.py")};
    assert_string_equal(name_of(FUNCTION("net/http.(*conn).serve", SF_FRAME_GO), SF_GROUP_PACKAGE),
                        "net/http");
    assert_string_equal(
        name_of(FUNCTION("github.com/x/y.v2.F[...]", SF_FRAME_UNKNOWN), SF_GROUP_PACKAGE),
        "github.com/x/y");
    assert_string_equal(name_of(FUNCTION("main.run", SF_FRAME_GO), SF_GROUP_PACKAGE), "main");
    assert_string_equal(name_of(FUNCTION("java/util/HashMap.get", SF_FRAME_JVM), SF_GROUP_PACKAGE),
                        "java/util");
    assert_string_equal(name_of(FUNCTION("java.util.HashMap.get", SF_FRAME_JVM), SF_GROUP_PACKAGE),
                        "java.util");
    assert_string_equal(name_of(FUNCTION("std::vector<int, std::allocator<int>>::push_back(int&&)",
                                         SF_FRAME_NATIVE),
                                SF_GROUP_PACKAGE),
                        "std");
    assert_string_equal(name_of(f, SF_GROUP_PACKAGE), "/app/orders");
    assert_string_equal(name_of((struct sf_frame){.function = SF_STR("memcpy"),
                                                  .kind = SF_FRAME_NATIVE,
                                                  .module = SF_STR("/lib/libc.so.6")},
                                SF_GROUP_PACKAGE),
                        "libc.so.6");
}
