#include "test.h"

#include "symbol/dwarf_lines.h"
#include "symbol/dwarf_names.h"
#include "symbol/dwarf_unit.h"

enum { FIRST = 0x1000 };

/* A program of version 4 with one folder and two files; `ops` follow. */
static struct sf_buf program(const uint8_t *ops, size_t len)
{
    struct sf_buf b = {0};
    static const uint8_t head[] = {1, 1, 1, 0xfb /* -5 */, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1,
                                   0, 0, 1};
    static const char names[] = "inc\0\0a.c\0\0\0\0b.h\0\1\0\0";
    sf_buf_add_u32le(&b, (uint32_t)(2 + 4 + sizeof(head) + sizeof(names) + len));
    sf_buf_add_u16le(&b, 4);
    sf_buf_add_u32le(&b, sizeof(head) + sizeof(names));
    sf_buf_add(&b, head, sizeof(head));
    sf_buf_add(&b, names, sizeof(names));
    sf_buf_add(&b, ops, len);
    return b;
}

static const struct sf_dwarf_unit unit = {
    .version = 4, .addr_size = 8, .off_size = 4, .folder = {"/src", 4}, .has_lines = true};

/* Address FIRST line 10 of a.c, +2 line 20 of b.h, +6 line 11 of a.c, the end at +9. */
static const uint8_t two_files[] = {
    SF_LINE_EXTENDED,
    9,
    SF_LINE_SET_ADDRESS,
    0,
    0x10,
    0,
    0,
    0,
    0,
    0,
    0,
    SF_LINE_ADVANCE_LINE,
    9,
    SF_LINE_COPY,
    SF_LINE_SET_FILE,
    2,
    SF_LINE_ADVANCE_PC,
    2,
    SF_LINE_ADVANCE_LINE,
    10,
    SF_LINE_COPY,
    SF_LINE_SET_FILE,
    1,
    SF_LINE_ADVANCE_LINE,
    0x77 /* -9 */,
    SF_LINE_FIXED_ADVANCE_PC,
    4,
    0,
    SF_LINE_COPY,
    SF_LINE_ADVANCE_PC,
    3,
    SF_LINE_EXTENDED,
    1,
    SF_LINE_END_SEQUENCE,
};

TEST(dwarf_lines, says_file_and_line_of_each_address)
{
    static const uint64_t at[] = {0,         FIRST - 1, FIRST,     FIRST + 1,
                                  FIRST + 2, FIRST + 5, FIRST + 8, FIRST + 9};
    static const uint32_t lines[] = {0, 0, 10, 10, 20, 20, 11, 0};
    struct sf_buf b = program(two_files, sizeof(two_files));
    struct sf_dwarf d = {.line = {b.p, b.len}, .work_left = 1000};
    struct sf_dwarf_line_table t = {0};
    struct sf_dwarf_place places[8] = {0};
    struct sf_buf path = {0};
    assert_true(sf_dwarf_line_table_read(&t, &d, &unit));
    sf_dwarf_lines_find(&t, &d, at, 8, places);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(places[i].is_found, lines[i] != 0);
        assert_int_equal(places[i].line, lines[i]);
    }
    assert_true(sf_dwarf_line_table_file(&t, places[2].file, &path));
    assert_str(sf_buf_str(&path), "/src/a.c");
    sf_buf_reset(&path);
    assert_true(sf_dwarf_line_table_file(&t, places[4].file, &path));
    assert_str(sf_buf_str(&path), "/src/inc/b.h");
    assert_false(sf_dwarf_line_table_file(&t, 3, &path));
    assert_false(sf_dwarf_line_table_file(&t, UINT64_MAX, &path));
    sf_buf_done(&path);
    sf_dwarf_line_table_done(&t);
    sf_buf_done(&b);
}

TEST(dwarf_lines, stops_when_all_work_is_spent)
{
    static const uint64_t at[] = {FIRST};
    struct sf_buf b = program(two_files, sizeof(two_files));
    struct sf_dwarf d = {.line = {b.p, b.len}, .work_left = 1000};
    struct sf_dwarf_line_table t = {0};
    struct sf_dwarf_place places[1] = {0};
    assert_true(sf_dwarf_line_table_read(&t, &d, &unit));
    d.work_left = 3; /* the first row is made, where it ends is never read */
    sf_dwarf_lines_find(&t, &d, at, 1, places);
    assert_false(places[0].is_found);
    assert_int_equal(d.work_left, 0);
    sf_dwarf_line_table_done(&t);
    sf_buf_done(&b);
}

/* Every cut and every changed byte: read or refused, inside its bounds (the sanitizers look). */
TEST(dwarf_lines, survives_damage)
{
    static const uint64_t at[] = {FIRST, FIRST + 3};
    struct sf_buf b = program(two_files, sizeof(two_files));
    struct sf_dwarf_line_table t = {0};
    for (size_t i = 0; i < b.len * 4; i++) {
        size_t where = i / 4;
        uint8_t was = b.p[where];
        struct sf_dwarf d = {.line = {b.p, i % 4 ? b.len : where}, .work_left = 10000};
        struct sf_dwarf_place places[2] = {0};
        struct sf_buf path = {0};
        b.p[where] = (uint8_t)(i % 4 == 1 ? 0 : i % 4 == 2 ? 0xff : was + 1);
        if (sf_dwarf_line_table_read(&t, &d, &unit)) {
            sf_dwarf_lines_find(&t, &d, at, 2, places);
            sf_dwarf_line_table_file(&t, places[0].file, &path);
        }
        b.p[where] = was;
        sf_buf_done(&path);
    }
    sf_dwarf_line_table_done(&t);
    sf_buf_done(&b);
}
