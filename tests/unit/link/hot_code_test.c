#include "link/hot_code.h"

#include "base/buf.h"
#include "flame/tree_builder.h"
#include "test.h"

static struct sf_arena req;
static struct sf_tree_builder b;
static struct sf_tree tree;
static double values[256];

static void begin(void)
{
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 1 << 22));
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    for (size_t i = 0; i < 256; i++)
        values[i] = 0;
}

/* "a;b:7;[libc.so.6]malloc": a line after a colon, a module in brackets. */
static void spend(const char *folded, double value)
{
    sf_str rest = sf_str_from(folded), name, part;
    uint32_t node = 0;
    while (sf_str_split_next(&rest, ';', &name)) {
        struct sf_frame f = {.function = name, .module = SF_STR("shop"), .kind = SF_FRAME_NATIVE};
        if (name.p[0] == '[') {
            name = sf_str_from_at(name, 1);
            assert_true(sf_str_split_next(&name, ']', &f.module));
            f.function = name;
        }
        sf_str tail = f.function;
        if (sf_str_split_next(&tail, ':', &part) && tail.len > 0) {
            f.function = part;
            f.line = (uint32_t)(tail.p[0] - '0');
            f.file = SF_STR("shop.c");
        }
        node = sf_tree_builder_child(&b, node, sf_tree_builder_frame(&b, &f));
    }
    assert_true(node < 256);
    values[node] += value;
}

/* "function<caller(library)=value ..." */
static void expect(const char *want)
{
    struct sf_hot_code h;
    struct sf_hot_pieces found;
    struct sf_buf text = {0};
    double sum = 0, all = 0, mapped[9] = {0};
    assert_ok(sf_tree_builder_take(&b, SF_STR_NONE, &tree, NULL));
    assert_ok(sf_hot_code_init(&h, &tree, &req, NULL));
    assert_ok(sf_hot_code_find(&h, values, 8, &req, &found, NULL));
    const struct sf_hot_piece *pieces = found.list;
    for (uint32_t i = 0; i < tree.n_nodes; i++)
        mapped[found.of[i] == SF_NONE ? 8 : found.of[i]] += values[i];
    for (uint32_t i = 0; i < found.n; i++) {
        assert_true(mapped[i] > pieces[i].value - 1e-9 && mapped[i] < pieces[i].value + 1e-9);
        sf_buf_print(&text, "%s%.*s<%.*s(%.*s)=%g", i ? " " : "", SF_STR_ARG(pieces[i].function),
                     SF_STR_ARG(pieces[i].caller), SF_STR_ARG(pieces[i].library), pieces[i].value);
        if (pieces[i].line)
            sf_buf_print(&text, ":%u", pieces[i].line);
        sum += pieces[i].value;
    }
    for (size_t i = 0; i < 256; i++)
        all += values[i];
    assert_true(sum + found.rest > all - 1e-9 && sum + found.rest < all + 1e-9);
    sf_buf_add_u8(&text, 0);
    assert_string_equal((const char *)text.p, want);
    sf_buf_done(&text);
    sf_tree_builder_done(&b);
}

TEST(hot_code, opens_callers_until_most_of_the_time_is_a_functions_own)
{
    begin();
    spend("main;total;check;match", 40);
    spend("main;total;discount;rules", 30);
    spend("main;total;discount;parse", 20);
    spend("main;total", 10);
    expect("match<check()=40 rules<discount()=30 parse<discount()=20 total<main()=10");
}

TEST(hot_code, takes_recursion_as_one_function)
{
    begin();
    spend("main;check;match;match;match", 10);
    spend("main;check;match;match", 20);
    spend("main;parse;value;list;value;list;space", 25);
    spend("main;parse;value;list;value;text", 15);
    spend("main;parse;value;list", 5);
    expect("value<parse()=45 match<check()=30");
}

TEST(hot_code, charges_libraries_to_the_service_and_names_them)
{
    begin();
    spend("[libc.so.6]start_thread;find;[libsqlite3.so.0]step;[libsqlite3.so.0]exec", 30);
    spend("[libc.so.6]start_thread;find;[libsqlite3.so.0]step;[libc.so.6]pread", 5);
    spend("[libc.so.6]start_thread;build;[libc.so.6]malloc", 20);
    spend("[libc.so.6]start_thread;build", 4);
    expect("find<(SQLite)=35 build<(the allocator)=24");
}

/* Frames without a name are one frame a file: the two of libc that start a thread are no recursion.
 */
TEST(hot_code, takes_no_library_and_no_code_without_names_for_recursion)
{
    begin();
    spend("[libc.so.6];[libc.so.6];find;[libsqlite3.so.0];[libc.so.6]", 30);
    spend("[libc.so.6];[libc.so.6];build;[libc.so.6]", 20);
    expect("find<(SQLite)=30 build<(the C library)=20");
    begin();
    spend("[app];[app];[app];find", 30);
    spend("[app];[app];[app];build", 20);
    expect("find<app (no symbols)()=30 build<app (no symbols)()=20");
    begin();
    spend("[libc.so.6]clone;[libc.so.6]clone;find", 30);
    expect("find<()=30");
}

TEST(hot_code, names_the_function_whose_callees_are_many_and_small)
{
    begin();
    for (int c = 'a'; c < 'a' + 20; c++) {
        char *path = sf_arena_new(&req, 32);
        assert_non_null(path);
        memcpy(path, "main;spread;x", 13);
        path[12] = (char)c;
        spend(path, 3);
    }
    spend("main;one", 40);
    expect("spread<main()=60 one<main()=40");
}

TEST(hot_code, joins_a_function_of_several_places_and_gives_its_costliest_line)
{
    begin();
    spend("main;left;sum:3", 10);
    spend("main;right;sum:3", 9);
    spend("main;right;sum:5", 12);
    spend("main;right;other", 8);
    expect("sum<left()=31:3 other<right()=8");
}

TEST(hot_code, leaves_small_change_without_a_name)
{
    begin();
    spend("main;large", 99);
    spend("main;small", 1);
    expect("large<main()=99");
    begin();
    expect("");
    sf_arena_done(&req);
}
