/* Go's goroutines as text: "/debug/pprof/goroutine?debug=2", a panic or SIGQUIT.
 *
 *     goroutine 18 [chan receive, 3 minutes]:
 *     main.(*pool).work(0xc0000140a8, {0x1, 0x2})
 *         /src/pool.go:12 +0x1d
 *     created by main.main in goroutine 1
 *         /src/main.go:20 +0x3
 *
 * One stack each, leaf first: a function and below it its source line. Each goroutine counts as
 * one, with the label `state` for what it waits for. Arguments are removed from names, and the
 * creator is not one of its frames. Lines before the first goroutine, and others of another form,
 * are skipped, because dumps may be part of logs. */
#include <inttypes.h>

#include "base/limits.h"
#include "decode/profile_type.h"
#include "decode/sample_sums.h"
#include "decode/text_word.h"

struct reader {
    struct sf_profile_build *b;
    struct sf_sample_sums sums;
    struct sf_profile_list frames; /* leaf first */
    uint32_t what, series;
    sf_str name;             /* name of a frame whose source line comes next; empty: none */
    bool is_open, is_behind; /* is_behind: the creator follows */
};

/* "goroutine 18 [chan receive, 3 minutes]:"; there may be other words before the bracket. */
static bool goroutine_dump_read_head(sf_str line, sf_str *out_state)
{
    sf_str rest = line, word;
    uint64_t id;
    size_t open, end;
    if (!sf_text_word(&rest, &word) || !sf_str_eq(word, SF_STR("goroutine")) ||
        !sf_text_word(&rest, &word) || !sf_str_to_u64(word, &id) ||
        !sf_str_find_char(rest, '[', &open) || !sf_str_ends(rest, SF_STR(":")))
        return false;
    rest = sf_str_from_at(rest, open + 1);
    for (end = 0; end < rest.len && rest.p[end] != ',' && rest.p[end] != ']';)
        end++;
    *out_state = sf_str_part(rest, 0, end);
    return end < rest.len;
}

static void close_frame(struct reader *r, sf_str file, uint32_t line)
{
    uint32_t *to;
    struct sf_function f = {.name = r->name, .file = file};
    if (!r->name.len)
        return;
    r->name = SF_STR_NONE;
    to = r->frames.n < 4 * SF_LIMIT_FRAMES ? sf_profile_list_more(r->b, &r->frames, sizeof(*to))
                                           : NULL;
    if (!to)
        return;
    *to = sf_profile_build_frame(r->b, &f, line, SF_FRAME_GO);
    r->frames.n += *to != SF_NONE;
}

static void close_stack(struct reader *r)
{
    struct sf_sample s = {.count = 1, .value = 1, .series = r->series};
    close_frame(r, SF_STR_NONE, 0);
    if (r->is_open && r->frames.n) {
        s.stack = sf_profile_build_stack(r->b, r->frames.items, r->frames.n);
        sf_sample_sums_add(&r->sums, &s);
    }
    r->is_open = r->is_behind = false;
}

static void open_stack(struct reader *r, sf_str state)
{
    struct sf_label label = {SF_STR("state"), sf_profile_clean(r->b, state)};
    close_stack(r);
    r->series = sf_profile_build_series(
        r->b, sf_profile_build_set(r->b, &r->b->me, &label, state.len > 0), r->what);
    r->frames.n = 0;
    r->is_open = true;
}

/* "main.(*pool).work(0xc0000140a8, {0x1})" without its arguments, the last parentheses. */
static sf_str goroutine_dump_without_arguments(sf_str line)
{
    size_t depth = 0;
    if (!sf_str_ends(line, SF_STR(")")))
        return line;
    for (size_t at = line.len; at-- > 0;) {
        depth += line.p[at] == ')';
        if (line.p[at] == '(' && --depth == 0)
            return sf_str_part(line, 0, at);
    }
    return line;
}

/* "/src/pool.go:12 +0x1d" */
static bool goroutine_dump_read_place(sf_str text, sf_str *file, uint32_t *line)
{
    size_t colon = text.len, blank;
    uint64_t n;
    if (sf_str_find(text, SF_STR(" +0x"), &blank))
        text.len = blank;
    for (colon = text.len; colon > 0 && text.p[colon - 1] != ':';)
        colon--;
    if (colon < 2 || !sf_str_to_u64(sf_str_from_at(text, colon), &n))
        return false;
    *file = sf_str_part(text, 0, colon - 1);
    *line = n < INT32_MAX ? (uint32_t)n : 0;
    return true;
}

static void goroutine_dump_take_line(struct reader *r, sf_str line)
{
    sf_str state, text = sf_str_trim(line), file = SF_STR_NONE;
    uint32_t at = 0;
    if (goroutine_dump_read_head(text, &state)) {
        open_stack(r, state);
    } else if (!text.len) {
        close_stack(r);
    } else if (r->is_open && sf_text_is_blank(line.p[0])) {
        if (!r->is_behind && goroutine_dump_read_place(text, &file, &at))
            close_frame(r, file, at);
    } else if (r->is_open && sf_str_starts(text, SF_STR("created by "))) {
        close_frame(r, SF_STR_NONE, 0);
        r->is_behind = true;
    } else if (r->is_open && !r->is_behind && sf_str_ends(text, SF_STR(")"))) {
        close_frame(r, SF_STR_NONE, 0);
        r->name = goroutine_dump_without_arguments(text);
    }
}

static enum sf_err goroutine_dump_decode(struct sf_profile_build *b, sf_str bytes)
{
    const sf_str type = SF_STR("goroutine"), unit = SF_STR("count");
    struct sf_profile_what what = {
        .type = {sf_profile_type_name_of(&type, 1, SF_STR_NONE), type, unit, type, unit},
        .period = 1};
    struct reader r = {.b = b, .sums = {.b = b}};
    sf_str rest = bytes, line;
    r.what = sf_profile_build_what(b, &what, true);
    while (sf_profile_build_ok(b) && sf_str_split_next(&rest, '\n', &line)) {
        if (line.len && line.p[line.len - 1] == '\r')
            line.len--;
        if (line.len <= SF_LIMIT_LINE_LEN)
            goroutine_dump_take_line(&r, line);
    }
    close_stack(&r);
    return SF_OK;
}

static bool goroutine_dump_is_dump(sf_str bytes)
{
    sf_str rest = sf_str_part(bytes, 0, 16384), line, state;
    while (sf_str_split_next(&rest, '\n', &line)) {
        if (sf_str_starts(line, SF_STR("goroutine ")) &&
            goroutine_dump_read_head(sf_str_trim(line), &state))
            return true;
    }
    return false;
}

const struct sf_profile_format sf_goroutine_dump_format = {
    .name = "goroutine-dump",
    .also = "goroutines",
    .is = goroutine_dump_is_dump,
    .decode = goroutine_dump_decode,
};
