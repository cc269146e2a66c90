#include "test.h"

#include "symbol/dwarf_path.h"

static void must_join(const char *root, const char *folder, const char *name, const char *want)
{
    struct sf_buf out = {0};
    sf_buf_add_str(&out, SF_STR("kept"));
    sf_dwarf_path_join(&out, sf_str_from(root), sf_str_from(folder), sf_str_from(name));
    assert_true(sf_buf_ok(&out));
    sf_buf_add_u8(&out, 0);
    assert_string_equal((char *)out.p + 4, want);
    sf_buf_done(&out);
}

TEST(dwarf_path, joins_what_is_not_absolute)
{
    must_join("/build", "src", "a.c", "/build/src/a.c");
    must_join("/build", "", "a.c", "/build/a.c");
    must_join("/build", "/usr/include", "a.h", "/usr/include/a.h");
    must_join("/build", "src", "/abs/a.c", "/abs/a.c");
    must_join("", "", "a.c", "a.c");
    must_join("", "src/", "a.c", "src/a.c");
}

TEST(dwarf_path, takes_dots_away_where_it_can)
{
    must_join("/work/build", "../src", "./a.c", "/work/src/a.c");
    must_join("/", "..", "a.c", "/a.c");
    must_join(".", "../src", "a.c", "../src/a.c");
    must_join("..", "..", "a.c", "../../a.c");
    must_join("one", "..", "a.c", "a.c");
    must_join("/a//b/", "c/../..", "d.c", "/a/d.c");
}

TEST(dwarf_path, keeps_the_end_of_what_is_too_long)
{
    char name[SF_DWARF_PATH_MAX + 100];
    struct sf_buf out = {0};
    memset(name, 'x', sizeof(name));
    memcpy(name + sizeof(name) - 4, "/a.c", 4);
    sf_dwarf_path_join(&out, SF_STR_NONE, SF_STR_NONE, (sf_str){name, sizeof(name)});
    assert_int_equal(out.len, SF_DWARF_PATH_MAX);
    assert_memory_equal(out.p + out.len - 4, "/a.c", 4);
    sf_buf_done(&out);
}
