/* The text of `py-spy dump`, one or several of them:
 *
 *     Process 14370: python3 w.py
 *     Python v3.11.7 (/usr/bin/python3.11)
 *
 *     Thread 14370 (active+gil): "MainThread"
 *         leaf (w.py:3)
 *             Arguments:
 *                 n: 2000
 *         <module> (w.py:7)
 *
 * Frames are leaf first, indented by four blanks; deeper lines are skipped. */
#include "base/limits.h"
#include "decode/python_threads.h"

/* "Thread 14370 (idle): "name""; the name may be missing. The number is decimal, or Python's own in
 * hexadecimal. */
static bool pyspy_dump_read_head(sf_str line, sf_str *state, sf_str *name, uint64_t *id)
{
    sf_str rest = sf_str_from_at(line, 7);
    size_t open, end;
    if (!sf_str_starts(line, SF_STR("Thread ")) || !sf_str_find(rest, SF_STR(" ("), &open) ||
        !sf_str_find(rest, SF_STR(")"), &end) || end < open)
        return false;
    *id = 0;
    (void)sf_str_to_u64(sf_str_part(rest, 0, open), id);
    *state = sf_str_part(rest, open + 2, end - open - 2);
    rest = sf_str_from_at(rest, end + 1);
    *name = SF_STR_NONE;
    if (sf_str_starts(rest, SF_STR(": \"")) && sf_str_ends(rest, SF_STR("\"")) && rest.len > 3)
        *name = sf_str_part(rest, 3, rest.len - 4);
    return sf_str_eq(rest, SF_STR_NONE) || rest.p[0] == ':';
}

/* "    outer (w.py:6)" */
static bool pyspy_dump_read_frame(sf_str line, sf_str *function, sf_str *file, uint32_t *at)
{
    size_t open, colon;
    uint64_t n;
    if (line.len < 9 || !sf_str_starts(line, SF_STR("    ")) || line.p[4] == ' ' ||
        line.p[line.len - 1] != ')')
        return false;
    for (open = line.len; open > 5 && line.p[open - 1] != '(';)
        open--;
    for (colon = line.len; colon > open && line.p[colon - 1] != ':';)
        colon--;
    if (open <= 5 || line.p[open - 2] != ' ')
        return false;
    *function = sf_str_part(line, 4, open - 6);
    *at = 0;
    if (colon <= open) { /* native code: a library, no line */
        *file = sf_str_part(line, open, line.len - 1 - open);
        return true;
    }
    if (!sf_str_to_u64(sf_str_part(line, colon, line.len - 1 - colon), &n) || n > INT32_MAX)
        return false;
    *file = sf_str_part(line, open, colon - 1 - open);
    *at = (uint32_t)n;
    return true;
}

static enum sf_err pyspy_dump_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct sf_python_threads t = sf_python_threads_init(b);
    sf_str rest = bytes, line, state, name, file;
    uint64_t id;
    uint32_t at;
    while (sf_profile_build_ok(b) && sf_str_split_next(&rest, '\n', &line)) {
        if (sf_str_ends(line, SF_STR("\r")))
            line.len--;
        if (line.len > SF_LIMIT_LINE_LEN)
            continue;
        if (pyspy_dump_read_head(line, &state, &name, &id)) {
            sf_python_threads_open(&t);
            t.state = state;
            t.name = name;
            t.id = id;
        } else if (pyspy_dump_read_frame(line, &name, &file, &at)) {
            sf_python_threads_frame(&t, name, file, at);
        } else if (!sf_str_starts(line, SF_STR("    "))) {
            sf_python_threads_close(&t);
        }
    }
    sf_python_threads_close(&t);
    return SF_OK;
}

/* Whether it begins with a process, a version of Python, and a thread. */
static bool pyspy_dump_is_dump(sf_str bytes)
{
    sf_str rest = sf_str_part(bytes, 0, 16384), line, state, name;
    uint64_t id;
    bool has_process = false, has_python = false;
    while (sf_str_split_next(&rest, '\n', &line)) {
        line = sf_str_trim(line);
        has_process |= sf_str_starts(line, SF_STR("Process "));
        has_python |= sf_str_starts(line, SF_STR("Python v"));
        if (has_process && has_python && pyspy_dump_read_head(line, &state, &name, &id))
            return true;
    }
    return false;
}

const struct sf_profile_format sf_pyspy_dump_format = {
    .name = "py-spy-dump",
    .also = "",
    .is = pyspy_dump_is_dump,
    .decode = pyspy_dump_decode,
};
