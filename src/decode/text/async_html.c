/* async-profiler's HTML: flame graphs and call trees.
 *
 * A flame graph is a list of calls, parents before children, in three versions:
 *
 *     f(level, left, width, type, 'name')                 before 2.10
 *     f(level, left, width, type, index)                  names in a list "cpool"
 *     f(key, level, left, width)  u(key, width)  n(key, width)    since 3.0
 *
 * where u is a frame above the last one, n one beside it, an omitted width is that of the last one,
 * and a key is an index and 3 bits of type. In the list each name but the first begins with one
 * character that gives the number of characters it shares with the previous one. A call tree is
 * nested HTML lists, each item with its share and its self samples. The self value of a bar is its
 * width minus those of its children.
 *
 * A reversed tree begins with the leaves, with their callers below, and gives the number of samples
 * that pass through an item. An item's number minus those below it is the number of samples whose
 * outermost frame it is, so the path to it, read backwards, is their whole stack. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/text.h"
#include "decode/sample_sums.h"
#include "decode/text/entities.h"
#include "decode/text/stack_text.h"

struct bar {
    int64_t width, inner; /* inner: sum of its children */
};

struct reader {
    struct sf_profile_build *b;
    struct sf_stack_text text;
    struct sf_profile_list names; /* of sf_str */
    struct sf_profile_list bars;  /* open bars, by level */
    struct sf_profile_list path, turned;
    bool is_reversed;
    int64_t level, width; /* of the last frame */
    bool is_new_types;
    const char *fault;
    size_t fault_off;
};

/* --- names --- */

/* Reads 'a\'b' at the start of *rest; false: not there. */
static bool async_html_take_quoted(struct reader *r, sf_str *rest, sf_str *out)
{
    size_t at = 1, len = 0;
    char *to;
    if (!rest->len || rest->p[0] != '\'')
        return false;
    while (at < rest->len && rest->p[at] != '\'')
        at += rest->p[at] == '\\' ? 2 : 1;
    if (at >= rest->len)
        return false;
    *out = sf_str_part(*rest, 1, at - 1);
    *rest = sf_str_from_at(*rest, at + 1);
    if (!sf_str_find_char(*out, '\\', &at))
        return true;
    to = sf_profile_new(r->b, out->len, 1);
    for (size_t i = 0; to && i < out->len; i++) {
        if (out->p[i] == '\\' && i + 1 < out->len)
            i++;
        to[len++] = out->p[i];
    }
    *out = to ? (sf_str){to, len} : SF_STR_NONE;
    return true;
}

/* Length of the first `n` characters (UTF-16 units, which JavaScript counts). */
static size_t async_html_prefix_len(sf_str s, uint32_t n)
{
    size_t at = 0;
    while (n && at < s.len) {
        uint32_t code;
        size_t len = sf_utf8_char_len(sf_str_from_at(s, at), &code);
        at += len ? len : 1;
        n -= len == 4 && n > 1 ? 2 : 1;
    }
    return at;
}

static void async_html_read_names(struct reader *r, sf_str text)
{
    sf_str last = SF_STR_NONE, line;
    while (sf_str_split_next(&text, '\n', &line) && !r->b->is_full) {
        sf_str rest = sf_str_trim(line), name, *to;
        uint32_t code;
        size_t skip, keep;
        char *joined;
        if (sf_str_starts(rest, SF_STR("]")))
            return;
        if (!async_html_take_quoted(r, &rest, &name))
            continue;
        to = sf_profile_list_more(r->b, &r->names, sizeof(*to));
        if (!to)
            return;
        if (r->names.n && name.len) {
            skip = sf_utf8_char_len(name, &code);
            keep = async_html_prefix_len(last, skip && code >= 32 ? code - 32 : 0);
            name = sf_str_from_at(name, skip ? skip : 1);
            joined = sf_profile_new(r->b, keep + name.len + 1, 1);
            if (!joined)
                return;
            for (size_t i = 0; i < keep; i++)
                joined[i] = last.p[i];
            for (size_t i = 0; i < name.len; i++)
                joined[keep + i] = name.p[i];
            name = (sf_str){joined, keep + name.len};
        }
        *to = last = name;
        r->names.n++;
    }
}

/* --- bars --- */

static void close_bars(struct reader *r, uint32_t level)
{
    const struct bar *bars = r->bars.items;
    const uint32_t *path = r->path.items; /* location of each open bar, with "all" at its root */
    while (r->bars.n > level && sf_profile_build_ok(r->b)) {
        const struct bar *top = &bars[r->bars.n - 1];
        if (top->width > top->inner && r->path.n > 1)
            sf_stack_text_add_path(&r->text, path + 1, r->path.n - 1, top->width - top->inner);
        r->bars.n--;
        r->path.n--;
    }
}

static enum sf_frame_kind async_html_kind_of(const struct reader *r, int64_t type)
{
    static const enum sf_frame_kind now[] = {SF_FRAME_JVM,    SF_FRAME_JVM,    SF_FRAME_JVM,
                                             SF_FRAME_NATIVE, SF_FRAME_NATIVE, SF_FRAME_KERNEL,
                                             SF_FRAME_JVM},
                                    old[] = {SF_FRAME_JVM, SF_FRAME_JVM, SF_FRAME_KERNEL,
                                             SF_FRAME_NATIVE, SF_FRAME_NATIVE};
    if (r->is_new_types)
        return type >= 0 && type < 7 ? now[type] : SF_FRAME_UNKNOWN;
    return type >= 0 && type < 5 ? old[type] : SF_FRAME_UNKNOWN;
}

static void open_bar(struct reader *r, int64_t level, int64_t width, sf_str name, int64_t type)
{
    struct bar *to;
    uint32_t *path;
    struct sf_function f = {.name = name.len ? name : SF_STR("(unknown)")};
    if (level < 0 || level > (int64_t)r->bars.n || level > 4 * SF_LIMIT_FRAMES || width < 0) {
        r->fault = "a bar without one below it";
        return;
    }
    close_bars(r, (uint32_t)level);
    to = sf_profile_list_more(r->b, &r->bars, sizeof(*to));
    path = sf_profile_list_more(r->b, &r->path, sizeof(*path));
    if (!to || !path || !sf_profile_build_ok(r->b))
        return;
    *to = (struct bar){.width = width};
    *path = sf_profile_build_frame(r->b, &f, 0, async_html_kind_of(r, type));
    if (*path == SF_NONE)
        return;
    r->path.n++;
    if (level)
        ((struct bar *)r->bars.items)[level - 1].inner += width;
    r->bars.n++;
    r->level = level;
    r->width = width;
}

static sf_str name_at(const struct reader *r, int64_t at)
{
    return at >= 0 && at < (int64_t)r->names.n ? ((const sf_str *)r->names.items)[at] : SF_STR_NONE;
}

/* The numbers of "f(1,2,3)", up to a name in quotes. */
static unsigned async_html_take_numbers(struct reader *r, sf_str *rest, int64_t *n, sf_str *name)
{
    unsigned found = 0;
    while (found < 8 && rest->len && rest->p[0] != ')') {
        size_t len = 0;
        if (rest->p[0] == '\'')
            return async_html_take_quoted(r, rest, name) ? found : 0;
        while (len < rest->len && rest->p[len] != ',' && rest->p[len] != ')')
            len++;
        if (!sf_str_to_i64(sf_str_trim(sf_str_part(*rest, 0, len)), &n[found]))
            n[found] = 0; /* "U": undefined */
        if (n[found] > INT64_MAX / 2)
            return 0;
        found++;
        *rest = sf_str_from_at(*rest, len);
        if (rest->len && rest->p[0] == ',')
            *rest = sf_str_from_at(*rest, 1);
    }
    return found;
}

static void take_call(struct reader *r, sf_str line)
{
    sf_str rest = sf_str_from_at(line, 2), name = SF_STR_NONE;
    int64_t n[8] = {0};
    unsigned found = async_html_take_numbers(r, &rest, n, &name);
    bool is_f = line.p[0] == 'f';
    r->is_new_types = false;
    if (is_f && name.p) {
        open_bar(r, n[0], n[2], name, n[3]);
        return;
    }
    r->is_new_types = true;
    if (is_f && (found == 5 || found == 8))
        open_bar(r, n[0], n[2], name_at(r, n[4]), n[3]);
    else if (is_f && found >= 3)
        open_bar(r, n[1], found > 3 && n[3] ? n[3] : r->width, name_at(r, n[0] >> 3), n[0] & 7);
    else if (!is_f && found >= 1)
        open_bar(r, r->level + (line.p[0] == 'u'), found > 1 && n[1] ? n[1] : r->width,
                 name_at(r, n[0] >> 3), n[0] & 7);
    else
        r->fault = "a call without its numbers";
}

/* --- the call tree --- */

/* The last number in the text, which may have thousands separators. */
static bool last_number(sf_str text, int64_t *out)
{
    size_t end = text.len, at;
    int64_t v = 0;
    while (end && (text.p[end - 1] < '0' || text.p[end - 1] > '9'))
        end--;
    for (at = end;
         at && ((text.p[at - 1] >= '0' && text.p[at - 1] <= '9') || text.p[at - 1] == ',');)
        at--;
    for (size_t i = at; i < end; i++) {
        if (text.p[i] != ',' &&
            (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, text.p[i] - '0', &v)))
            return false;
    }
    *out = v;
    return end > at;
}

/* For a reversed tree: `path` is leaf first. */
static void close_items(struct reader *r, uint32_t level)
{
    const struct bar *bars = r->bars.items;
    const uint32_t *path = r->path.items;
    uint32_t n = r->bars.n;
    while (n > level && sf_profile_build_ok(r->b)) {
        const struct bar *top = &bars[--n];
        r->turned.n = 0;
        for (uint32_t i = n + 1; top->width > top->inner && i-- > 0;) {
            uint32_t *to = sf_profile_list_more(r->b, &r->turned, sizeof(*to));
            if (!to)
                return;
            *to = path[i];
            r->turned.n++;
        }
        if (r->turned.n)
            sf_stack_text_add_path(&r->text, r->turned.items, r->turned.n, top->width - top->inner);
    }
    r->bars.n = r->path.n = level;
}

static void take_reversed(struct reader *r, sf_str name, int64_t total, uint32_t level)
{
    struct bar *bar;
    uint32_t *path;
    close_items(r, level - 1);
    bar = sf_profile_list_more(r->b, &r->bars, sizeof(*bar));
    path = sf_profile_list_more(r->b, &r->path, sizeof(*path));
    if (!bar || !path || !sf_profile_build_ok(r->b))
        return;
    *bar = (struct bar){.width = total};
    *path = sf_stack_text_frame(&r->text, name);
    if (*path == SF_NONE)
        return;
    r->path.n++;
    if (r->bars.n)
        bar[-1].inner = sf_add_sat_i64(bar[-1].inner, total);
    r->bars.n++;
}

/* "<li><div>[1] 9.0% 10 self: 1.0% 2</div><span class="t1"> name</span>"; reversed without self. */
static void take_item(struct reader *r, sf_str line, uint32_t level)
{
    size_t div, end, open, close;
    sf_str numbers, name, rest;
    int64_t self;
    uint32_t *to;
    if (!sf_str_find(line, SF_STR("<div"), &div) || !sf_str_find(line, SF_STR("</div>"), &end) ||
        end < div || !sf_str_find(line, SF_STR("<span"), &open))
        return;
    numbers = sf_str_part(line, div, end - div);
    rest = sf_str_from_at(line, open);
    if (!sf_str_find_char(rest, '>', &open) || !sf_str_find(rest, SF_STR("</span>"), &close) ||
        close < open)
        return;
    name = sf_entities_decode(r->b, sf_str_trim(sf_str_part(rest, open + 1, close - open - 1)));
    if (!last_number(numbers, &self) || level == 0 || level > r->path.n + 1) {
        r->fault = "an item without its numbers or outside of the tree";
        return;
    }
    if (!sf_str_find(numbers, SF_STR("self:"), &div)) {
        r->is_reversed = true;
        take_reversed(r, name, self, level);
        return;
    }
    if (r->is_reversed) {
        r->fault = "an item with samples of its own in a reversed tree";
        return;
    }
    r->path.n = level - 1;
    to = sf_profile_list_more(r->b, &r->path, sizeof(*to));
    if (!to)
        return;
    *to = sf_stack_text_frame(&r->text, name);
    r->path.n += *to != SF_NONE;
    if (self)
        sf_stack_text_add_path(&r->text, r->path.items, r->path.n, self);
}

/* Lists are nested as frames are. */
static void read_tree(struct reader *r, sf_str text)
{
    uint32_t level = 0;
    sf_str line, all = text;
    while (sf_str_split_next(&text, '\n', &line) && sf_profile_build_ok(r->b) && !r->fault) {
        sf_str rest = line;
        size_t at;
        while (sf_str_find_char(rest, '<', &at)) {
            rest = sf_str_from_at(rest, at);
            if (sf_str_starts(rest, SF_STR("<ul")) && level < SF_LIMIT_FRAMES)
                level++;
            else if (sf_str_starts(rest, SF_STR("</ul>")) && level)
                level--;
            else if (sf_str_starts(rest, SF_STR("<li><div")))
                take_item(r, rest, level);
            rest = sf_str_from_at(rest, 1);
        }
        r->fault_off = (size_t)(line.p - all.p);
    }
    if (r->is_reversed && !r->fault)
        close_items(r, 0);
}

/* --- the file --- */

static void read_calls(struct reader *r, sf_str text)
{
    sf_str line, all = text;
    size_t at;
    while (sf_str_split_next(&text, '\n', &line) && sf_profile_build_ok(r->b) && !r->fault) {
        char c = line.len > 2 && line.p[1] == '(' ? line.p[0] : 0;
        if (sf_str_starts(line, SF_STR("const cpool = ["))) {
            async_html_read_names(r, text);
        } else if ((c == 'f' || c == 'u' || c == 'n') && sf_str_find_char(line, ')', &at)) {
            take_call(r, line);
            r->fault_off = (size_t)(line.p - all.p);
        }
    }
    if (!r->fault)
        close_bars(r, 0);
}

static bool async_html_is_tree(sf_str bytes)
{
    return sf_str_find(bytes, SF_STR("<li><div"), &(size_t){0});
}

static enum sf_err async_html_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct reader r = {.b = b};
    enum sf_err err = sf_stack_text_init(&r.text, b);
    if (err)
        return err;
    if (async_html_is_tree(bytes))
        read_tree(&r, bytes);
    else
        read_calls(&r, bytes);
    if (r.fault && sf_profile_build_ok(b))
        return sf_fail(b->why, SF_ERR_INPUT, "async-profiler's HTML: %s, at byte %zu", r.fault,
                       r.fault_off);
    return SF_OK;
}

static bool is_html(sf_str bytes)
{
    sf_str head = sf_str_part(bytes, 0, 16384);
    size_t at;
    return sf_str_starts(sf_str_trim(sf_str_part(bytes, 0, 256)), SF_STR("<!DOCTYPE html>")) &&
           (sf_str_find(head, SF_STR("async-profiler"), &at) ||
            sf_str_find(head, SF_STR("<li><div"), &at)) &&
           (async_html_is_tree(bytes) || sf_str_find(bytes, SF_STR("\nf("), &at));
}

const struct sf_profile_format sf_async_html_format = {
    .name = "async-profiler-html",
    .also = "",
    .is = is_html,
    .decode = async_html_decode,
};
