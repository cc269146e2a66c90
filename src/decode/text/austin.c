/* Austin's text: header lines "# key: value", then a sample per line,
 *
 *     P42;T0x7f12;app.py:main:3;app.py:work:17 100
 *
 * a process, a thread (which may be preceded by an interpreter's number, "T0:1a"), frames from the
 * root as file, function and line, and a number: microseconds, or bytes in memory mode. In full
 * mode there are three: microseconds, whether the thread was idle, and bytes, which are negative
 * when memory was freed. */
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/text.h"
#include "decode/text/austin.h"

/* --- shared by text and binary form --- */

void sf_austin_init(struct sf_austin *a, struct sf_profile_build *b)
{
    *a = (struct sf_austin){.b = b, .sums = {.b = b}};
}

void sf_austin_metadata(struct sf_austin *a, sf_str key, sf_str val)
{
    if (!sf_str_eq(key, SF_STR("mode")))
        return;
    a->mode = sf_str_starts(val, SF_STR("cpu"))      ? SF_AUSTIN_CPU
              : sf_str_starts(val, SF_STR("memory")) ? SF_AUSTIN_MEMORY
              : sf_str_starts(val, SF_STR("full"))   ? SF_AUSTIN_FULL
                                                     : SF_AUSTIN_WALL;
}

static uint32_t austin_open_type(struct sf_austin *a, const char *name, const char *type,
                                 const char *unit)
{
    struct sf_profile_what what = {.type = {sf_str_from(name), sf_str_from(type), sf_str_from(unit),
                                            sf_str_from(type), sf_str_from(unit)}};
    return sf_profile_build_series(a->b, sf_profile_build_set(a->b, &a->b->me, NULL, 0),
                                   sf_profile_build_what(a->b, &what, false));
}

static void austin_open_types(struct sf_austin *a)
{
    bool is_full = a->mode == SF_AUSTIN_FULL;
    a->wall = a->cpu = a->alloc = a->freed = SF_NONE;
    a->is_open = true;
    if (a->mode == SF_AUSTIN_CPU || is_full)
        a->cpu = austin_open_type(a, "process_cpu", "cpu", "nanoseconds");
    if (a->mode == SF_AUSTIN_WALL || is_full)
        a->wall = austin_open_type(a, "wall", "wall", "nanoseconds");
    if (a->mode == SF_AUSTIN_MEMORY || is_full) {
        a->alloc = austin_open_type(a, "memory", "alloc_space", "bytes");
        a->freed = austin_open_type(a, "memory", "free_space", "bytes");
    }
}

static void austin_push(struct sf_austin *a, const struct sf_function *f, uint32_t line,
                        enum sf_frame_kind kind)
{
    uint32_t *to = sf_profile_list_more(a->b, &a->path, sizeof(*to));
    if (!to)
        return;
    *to = sf_profile_build_frame(a->b, f, line, kind);
    a->path.n += *to != SF_NONE;
}

void sf_austin_frame(struct sf_austin *a, sf_str file, sf_str function, uint32_t line)
{
    struct sf_function f = {.name = function.len ? function : SF_STR("(unknown)"), .file = file};
    bool is_kernel = sf_str_eq(file, SF_STR("kernel"));
    if (is_kernel)
        f.file = SF_STR_NONE;
    austin_push(a, &f, line, is_kernel ? SF_FRAME_KERNEL : SF_FRAME_PYTHON);
}

void sf_austin_add(struct sf_austin *a, const struct sf_austin_value *v)
{
    struct sf_sample s = {.count = 1, .thread = a->thread};
    int64_t ns = sf_mul_sat_i64(v->time_us > 0 ? v->time_us : 0, 1000);
    if (!a->is_open)
        austin_open_types(a);
    s.stack = sf_profile_build_path(a->b, a->path.items, a->path.n);
    a->path.n = 0;
    s.series = a->wall;
    s.value = ns;
    s.state = v->is_idle ? SF_STATE_SLEEP : SF_STATE_UNKNOWN;
    sf_sample_sums_add(&a->sums, &s);
    s.series = a->cpu;
    if (!v->is_idle)
        sf_sample_sums_add(&a->sums, &s);
    s.series = v->bytes < 0 ? a->freed : a->alloc;
    s.value = v->bytes < 0 ? -(v->bytes + 1) + 1 : v->bytes;
    sf_sample_sums_add(&a->sums, &s);
}

/* --- the text --- */

/* "file:function:line", in newer versions with three more numbers; ":GC:" and similar have no
 * file. */
static void austin_take_frame(struct sf_austin *a, sf_str text)
{
    sf_str head;
    uint64_t line = 0, n;
    unsigned n_numbers = 0;
    size_t at = text.len;
    while (at && n_numbers < 4) { /* numbers at the end */
        size_t colon = at;
        while (colon && text.p[colon - 1] != ':')
            colon--;
        if (!colon || !sf_str_to_u64(sf_str_part(text, colon, at - colon), &n))
            break;
        line = n;
        n_numbers++;
        at = colon - 1;
    }
    head = sf_str_part(text, 0, at);
    for (at = head.len; at && head.p[at - 1] != ':';)
        at--;
    if (text.len > 2 && text.p[0] == ':')
        sf_austin_frame(a, SF_STR_NONE, sf_str_part(text, 1, text.len - 2), 0);
    else if (!at)
        sf_austin_frame(a, SF_STR_NONE, head, 0);
    else /* a file's name may contain colons, a function's does not */
        sf_austin_frame(a, sf_str_part(head, 0, at - 1), sf_str_from_at(head, at),
                        line < INT32_MAX ? (uint32_t)line : 0);
}

static uint64_t austin_thread_of(sf_str text)
{
    uint64_t v = 0;
    size_t colon;
    if (sf_str_find_char(text, ':', &colon)) /* skip the interpreter's number */
        text = sf_str_from_at(text, colon + 1);
    if (sf_str_to_u64(text, &v))
        return v;
    if (sf_str_starts(text, SF_STR("0x")))
        text = sf_str_from_at(text, 2);
    for (size_t i = 0; i < text.len; i++) {
        int digit = sf_hex_digit(text.p[i]);
        if (digit < 0 || text.len > 16)
            return sf_hash_str(text);
        v = v << 4 | (uint64_t)digit;
    }
    return v;
}

static bool austin_take_numbers(struct sf_austin *a, sf_str text, struct sf_austin_value *v)
{
    sf_str rest = text, one;
    int64_t n[3] = {0};
    unsigned found = 0;
    while (found < 3 && sf_str_split_next(&rest, ',', &one)) {
        if (!sf_str_to_i64(one, &n[found]))
            return false;
        found++;
    }
    if (rest.len || (found != 1 && found != 3))
        return false;
    if (found == 3 && !a->is_open)
        a->mode = SF_AUSTIN_FULL;
    *v = (struct sf_austin_value){.time_us = n[0], .bytes = n[2], .is_idle = n[1] != 0};
    if (found == 1 && a->mode == SF_AUSTIN_MEMORY)
        *v = (struct sf_austin_value){.bytes = n[0]};
    return true;
}

static bool austin_take_sample(struct sf_austin *a, sf_str line)
{
    struct sf_austin_value v;
    sf_str rest, part;
    size_t at = line.len;
    while (at && line.p[at - 1] != ' ')
        at--;
    if (at < 2 || line.p[0] != 'P' || !austin_take_numbers(a, sf_str_from_at(line, at), &v))
        return false;
    rest = sf_str_trim(sf_str_part(line, 0, at - 1));
    a->path.n = 0;
    a->thread = 0;
    sf_str_split_next(&rest, ';', &part); /* skip the process */
    while (sf_str_split_next(&rest, ';', &part) && !a->b->is_full) {
        if (!a->thread && !a->path.n && part.len > 1 && part.p[0] == 'T')
            a->thread = austin_thread_of(sf_str_from_at(part, 1));
        else if (part.len)
            austin_take_frame(a, part);
    }
    sf_austin_add(a, &v);
    return true;
}

static enum sf_err austin_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct sf_austin a;
    sf_str rest = bytes, line;
    uint64_t n = 0;
    size_t colon;
    sf_austin_init(&a, b);
    while (sf_profile_build_ok(b) && sf_str_split_next(&rest, '\n', &line)) {
        n++;
        line = sf_str_trim(line);
        if (!line.len)
            continue;
        if (line.p[0] == '#' && sf_str_find_char(line, ':', &colon))
            sf_austin_metadata(&a, sf_str_trim(sf_str_part(line, 1, colon - 1)),
                               sf_str_trim(sf_str_from_at(line, colon + 1)));
        else if (line.len > SF_LIMIT_LINE_LEN ||
                 (line.p[0] != '#' && !austin_take_sample(&a, line)))
            sf_profile_build_drop(b, &b->drops.n_parts, "Austin: line %" PRIu64 " is not a sample",
                                  n);
    }
    return SF_OK;
}

/* "P42;T..." and a number at the end of the first line that is not a header. */
static bool is_austin(sf_str bytes)
{
    sf_str rest = sf_str_part(bytes, 0, 256 * 1024), line;
    while (sf_str_split_next(&rest, '\n', &line)) {
        size_t at;
        line = sf_str_trim(line);
        if (!line.len)
            continue;
        if (sf_str_starts(line, SF_STR("# austin:")))
            return true;
        if (line.p[0] == '#')
            continue;
        for (at = 1; at < line.len && line.p[at] >= '0' && line.p[at] <= '9';)
            at++;
        return line.p[0] == 'P' && at > 1 && sf_str_starts(sf_str_from_at(line, at), SF_STR(";T"));
    }
    return false;
}

const struct sf_profile_format sf_austin_format = {
    .name = "austin",
    .also = "",
    .is = is_austin,
    .decode = austin_decode,
};
