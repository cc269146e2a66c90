#include "cli/query_text.h"

#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "os/terminal.h"
#include "os/text_file.h"
#include "render/units.h"

enum { INDENT = 2 };

enum sf_err sf_query_text_read(const char *word, struct sf_buf *out, struct sf_why *why)
{
    struct sf_buf file = {0};
    sf_str rest = sf_str_from(word), line;
    enum sf_err err = SF_OK;
    uint32_t n_lines = 0;
    if (sf_str_eq(rest, SF_STR("-"))) {
        err = sf_text_file_read("-", SF_LIMIT_QUERY_LEN, &file, why);
        rest = sf_buf_str(&file);
    }
    while (!err && sf_str_split_next(&rest, '\n', &line)) {
        /* A comment is replaced by an empty line: errors refer to line numbers. */
        if (n_lines++)
            sf_buf_add_u8(out, '\n');
        if (!sf_str_starts(sf_str_trim(line), SF_STR("#")))
            sf_buf_add_str(out, line);
    }
    sf_buf_done(&file);
    if (!err && !sf_buf_ok(out))
        err = sf_no_memory(why, "the query");
    if (!err && sf_str_trim(sf_buf_str(out)).len == 0)
        err = sf_fail(why, SF_ERR_INPUT, "the query is empty; {} matches every span");
    return err;
}

/* Appends one line of text, escaped for a terminal; returns its width. */
static size_t query_text_add_text(struct sf_buf *out, sf_str text)
{
    size_t width = 0;
    for (size_t i = 0; i < text.len; i++) {
        size_t end = i;
        while (end < text.len && text.p[end] != '\t' && text.p[end] != '\r')
            end++;
        width += sf_units_text(out, sf_str_part(text, i, end - i), SIZE_MAX);
        if (end < text.len) {
            sf_buf_add_u8(out, ' ');
            width++;
        }
        i = end;
    }
    return width;
}

/* The character boundary at or before `at`. */
static size_t boundary(sf_str s, size_t at)
{
    while (at > 0 && at < s.len && ((unsigned char)s.p[at] & 0xc0) == 0x80)
        at--;
    return at < s.len ? at : s.len;
}

static void paint(struct sf_buf *out, bool has_color, sf_str code)
{
    if (has_color)
        sf_buf_add_str(out, code);
}

void sf_query_text_mark(sf_str query, struct sf_query_fault fault, size_t columns, bool has_color,
                        struct sf_buf *out)
{
    static const sf_str red = {"\033[31m", 5}, plain = {"\033[0m", 4};
    sf_str rest = query, line = SF_STR_NONE, place;
    size_t at, end, from = 0, room = columns > INDENT + 20 ? columns - INDENT : 20, width, marks;
    if (fault.line == 0 || fault.column == 0)
        return;
    for (uint32_t i = 0; i < fault.line; i++) {
        if (!sf_str_split_next(&rest, '\n', &line))
            line = SF_STR_NONE;
    }
    at = boundary(line, fault.column - 1);
    end = at + fault.len < line.len ? boundary(line, at + fault.len) : line.len;
    if (end - at > room / 2)
        end = boundary(line, at + room / 2);
    if (line.len > room && end + room / 4 > room) /* a long line: start a little before the error */
        from = boundary(line, at > room / 2 ? at - room / 2 : 0);
    place = sf_str_part(line, at, end - at);
    sf_units_pad(out, INDENT);
    width = query_text_add_text(out, sf_str_part(line, from, at - from));
    paint(out, has_color, red);
    marks = query_text_add_text(out, place);
    paint(out, has_color, plain);
    if (width + marks < room)
        sf_units_text(out, sf_str_from_at(line, end), room - width - marks);
    sf_buf_add_u8(out, '\n');
    sf_units_pad(out, INDENT + width);
    paint(out, has_color, red);
    for (size_t i = 0; i < (marks ? marks : 1); i++)
        sf_buf_add_u8(out, '^');
    paint(out, has_color, plain);
    sf_buf_add_u8(out, '\n');
}

bool sf_query_text_check(const char *command, sf_str query, struct sf_arena *req,
                         const struct sf_query **out)
{
    struct sf_query_fault fault = {0};
    struct sf_buf marked = {0};
    struct sf_why why = {0};
    if (sf_query_parse(query, req, out, &fault, &why) == SF_OK)
        return true;
    sf_query_text_mark(query, fault, sf_terminal_width(STDERR_FILENO, 80),
                       sf_terminal_has_color(STDERR_FILENO), &marked);
    fprintf(stderr, "spanflame %s: %s\n%.*s", command, why.text, SF_STR_ARG(sf_buf_str(&marked)));
    sf_buf_done(&marked);
    return false;
}
