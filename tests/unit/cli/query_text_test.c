#include "cli/query_text.h"

#include "test.h"

static void assert_marked(const char *query, struct sf_query_fault fault, size_t columns,
                          const char *want)
{
    struct sf_buf out = {0};
    sf_query_text_mark(sf_str_from(query), fault, columns, false, &out);
    sf_buf_add_u8(&out, 0);
    assert_string_equal((char *)out.p, want);
    sf_buf_done(&out);
}

TEST(query_text, underlines_the_faulty_place)
{
    assert_marked("{ a = }", (struct sf_query_fault){1, 7, 1}, 80, "  { a = }\n        ^\n");
    assert_marked("{\n{ nme = 1 }", (struct sf_query_fault){2, 3, 3}, 80,
                  "  { nme = 1 }\n    ^^^\n");
}

TEST(query_text, paints_the_faulty_place_where_there_are_colours)
{
    struct sf_buf out = {0};
    sf_query_text_mark(SF_STR("{ nme = 1 }"), (struct sf_query_fault){1, 3, 3}, 80, true, &out);
    sf_buf_add_u8(&out, 0);
    assert_string_equal((char *)out.p, "  { \033[31mnme\033[0m = 1 }\n    \033[31m^^^\033[0m\n");
    sf_buf_done(&out);
}

TEST(query_text, stays_under_the_place_behind_wide_and_unprintable_text)
{
    assert_marked("{ \"\xc3\xa4\xe6\x97\xa5\" x }", (struct sf_query_fault){1, 11, 1}, 80,
                  "  { \"\xc3\xa4\xe6\x97\xa5\" x }\n          ^\n");
    assert_marked("\t\x1b x", (struct sf_query_fault){1, 4, 1}, 80, "   ? x\n     ^\n");
}

TEST(query_text, marks_the_end_and_nothing_without_a_place)
{
    assert_marked("{ a", (struct sf_query_fault){1, 4, 1}, 80, "  { a\n     ^\n");
    assert_marked("{ a", (struct sf_query_fault){1, 400, 9}, 80, "  { a\n     ^\n");
    assert_marked("{ a", (struct sf_query_fault){9, 1, 1}, 80, "  \n  ^\n");
    assert_marked("{ a", (struct sf_query_fault){0}, 80, "");
}

TEST(query_text, cuts_long_lines_around_the_fault)
{
    char text[2001];
    memset(text, 'x', 2000);
    text[1000] = '!';
    text[2000] = 0;
    for (uint32_t column = 1; column < 2010; column += 7) {
        struct sf_buf out = {0};
        size_t end;
        sf_query_text_mark(sf_str_from(text), (struct sf_query_fault){1, column, 900}, 60, false,
                           &out);
        assert_true(sf_str_find_char(sf_buf_str(&out), '\n', &end));
        assert_true(end <= 63); /* 60 columns, the ellipsis is three bytes */
        assert_true(out.len - end <= 63);
        sf_buf_done(&out);
    }
}

TEST(query_text, leaves_comment_lines_out)
{
    struct sf_buf out = {0};
    struct sf_why why;
    assert_ok(sf_query_text_read("# slow ones\n{ a }\n#\n && { b }", &out, &why));
    sf_buf_add_u8(&out, 0);
    assert_string_equal((char *)out.p, "\n{ a }\n\n && { b }");
    sf_buf_reset(&out);
    assert_ok(sf_query_text_read("{ a\n  \t# behind blanks\n }", &out, &why));
    sf_buf_add_u8(&out, 0);
    assert_string_equal((char *)out.p, "{ a\n\n }");
    sf_buf_reset(&out);
    assert_err(sf_query_text_read("# nothing\n  ", &out, &why), SF_ERR_INPUT);
    sf_buf_done(&out);
}
