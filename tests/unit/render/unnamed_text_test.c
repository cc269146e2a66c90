#include "render/unnamed_text.h"

#include "test.h"

static void is_in(const char *module, const char *package)
{
    char out[SF_DEBUG_PACKAGE_CAP] = "";
    assert_int_equal(sf_unnamed_text_debug_package(sf_str_from(module), out), package != NULL);
    if (package)
        assert_string_equal(out, package);
}

TEST(unnamed_text, knows_the_packages_of_libraries)
{
    is_in("libsqlite3.so.0", "libsqlite3-0-dbgsym");
    is_in("/usr/lib/x86_64-linux-gnu/libssl.so.3", "libssl3-dbgsym");
    is_in("libstdc++.so.6.0.30", "libstdc++6-dbgsym");
    is_in("libX11.so.6", "libx11-6-dbgsym");
    is_in("libgdk_pixbuf.so.2", "libgdk-pixbuf2-dbgsym");
    is_in("libc.so.6", "libc6-dbg");
    is_in("ld-linux-x86-64.so.2", "libc6-dbg");
    is_in("shop", NULL);
    is_in("lib.so.1", NULL);
    is_in("libfoo.so", NULL);
    is_in("libfoo.so.", NULL);
    is_in("libfoo.so.x", NULL);
    is_in("libf\noo.so.1", NULL);
    is_in("", NULL);
}

TEST(unnamed_text, says_where_the_names_of_the_largest_are)
{
    struct sf_frame frames[] = {
        {.function = SF_STR("main"), .module = SF_STR("shop")},
        {.module = SF_STR("/usr/lib/libsqlite3.so.0"),
         .build_id = SF_STR("a9dd2000ff"),
         .file_off = 5},
        {.module = SF_STR("/usr/lib/libsqlite3.so.0"),
         .build_id = SF_STR("a9dd2000ff"),
         .file_off = 9},
        {.module = SF_STR("plugin"), .build_id = SF_STR_NONE, .file_off = 7},
        {.module = SF_STR("libtiny.so.1"), .build_id = SF_STR("00112233"), .file_off = 7}};
    struct sf_tree_node nodes[] = {{0, 0, 0},   {0, 0, 499}, {1, 1, 200},
                                   {1, 2, 200}, {1, 3, 100}, {1, 4, 1}};
    struct sf_tree tree = {
        .frames = frames, .nodes = nodes, .n_frames = 5, .n_nodes = 6, .total = 1000};
    struct sf_buf out = {0};
    sf_unnamed_text(&tree, &out);
    assert_str(sf_buf_str(&out),
               "libsqlite3.so.0 has no names (40 %); with its debug package (Debian: likely "
               "libsqlite3-0-dbgsym):\n"
               "  spanflame symbols upload /usr/lib/debug/.build-id/a9/dd2000ff.debug\n"
               "plugin has no names (10 %) and was sent without a build id: names cannot be "
               "added\n");
    sf_buf_reset(&out);
    tree.n_nodes = 2;
    sf_unnamed_text(&tree, &out);
    assert_int_equal(out.len, 0);
    sf_buf_done(&out);
}
