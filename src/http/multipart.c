#include "http/multipart.h"

enum { MAX_BOUNDARY = 200, MAX_HEADER_LEN = 16384 };

/* The value of `key=` in "a; key=value; ...", without quotes. */
static bool find_parameter(sf_str header, sf_str key, sf_str *out)
{
    sf_str rest = header, part;
    bool is_first = true;
    while (rest.len) {
        size_t end = 0;
        bool is_quoted = false;
        while (end < rest.len && (is_quoted || rest.p[end] != ';')) {
            is_quoted ^= rest.p[end] == '"';
            end++;
        }
        part = sf_str_trim(sf_str_part(rest, 0, end));
        rest = sf_str_from_at(rest, end + 1);
        if (!is_first && part.len > key.len && part.p[key.len] == '=' &&
            sf_str_ieq(sf_str_part(part, 0, key.len), key)) {
            part = sf_str_trim(sf_str_from_at(part, key.len + 1));
            if (part.len >= 2 && part.p[0] == '"' && part.p[part.len - 1] == '"')
                part = sf_str_part(part, 1, part.len - 2);
            *out = part;
            return true;
        }
        is_first = false;
    }
    return false;
}

enum sf_err sf_multipart_init(struct sf_multipart *m, sf_str content_type, sf_str body,
                              struct sf_why *why)
{
    *m = (struct sf_multipart){.rest = body};
    if (!find_parameter(content_type, SF_STR("boundary"), &m->boundary) || m->boundary.len == 0 ||
        m->boundary.len > MAX_BOUNDARY)
        return sf_fail(why, SF_ERR_INPUT, "multipart: the content type names no boundary");
    return SF_OK;
}

/* The next "--boundary" at the beginning of a line; `out_at` is the offset of its line break, or
 * its own. */
static bool find_boundary(const struct sf_multipart *m, sf_str in, size_t from, size_t *out_at,
                          size_t *out_end)
{
    while (from < in.len) {
        size_t at, line;
        if (!sf_str_find(sf_str_from_at(in, from), m->boundary, &at))
            return false;
        at += from;
        from = at + 1;
        if (at < 2 || in.p[at - 1] != '-' || in.p[at - 2] != '-')
            continue;
        line = at - 2;
        if (line > 0 && in.p[line - 1] != '\n')
            continue;
        *out_end = at + m->boundary.len;
        if (line > 0)
            line--;
        if (line > 0 && in.p[line - 1] == '\r')
            line--;
        *out_at = line;
        return true;
    }
    return false;
}

static bool multipart_fail(struct sf_multipart *m, const char *sentence)
{
    m->err = sf_fail(&m->why, SF_ERR_INPUT, "multipart: %s", sentence);
    return false;
}

static sf_str next_line(sf_str *rest)
{
    sf_str line = SF_STR_NONE;
    (void)sf_str_split_next(rest, '\n', &line);
    if (line.len && line.p[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* Headers up to an empty line; only the disposition is used. */
static bool multipart_read_headers(struct sf_multipart *m, struct sf_multipart_part *out)
{
    sf_str before = m->rest;
    for (;;) {
        sf_str line, name;
        if (m->rest.len == 0 || before.len - m->rest.len > MAX_HEADER_LEN)
            return multipart_fail(m, "a part's headers do not end");
        line = next_line(&m->rest);
        if (line.len == 0)
            return true;
        if (!sf_str_split_next(&line, ':', &name) ||
            !sf_str_ieq(sf_str_trim(name), SF_STR("content-disposition")))
            continue;
        (void)find_parameter(line, SF_STR("name"), &out->name);
        (void)find_parameter(line, SF_STR("filename"), &out->file_name);
    }
}

bool sf_multipart_next(struct sf_multipart *m, struct sf_multipart_part *out)
{
    size_t at, end;
    *out = (struct sf_multipart_part){0};
    if (m->err)
        return false;
    if (!m->is_begun) {
        if (!find_boundary(m, m->rest, 0, &at, &end))
            return multipart_fail(m, "the boundary does not occur");
        m->rest = sf_str_from_at(m->rest, end);
        m->is_begun = true;
    }
    if (sf_str_starts(m->rest, SF_STR("--")))
        return false; /* the last boundary; anything after it is ignored */
    (void)next_line(&m->rest);
    if (!multipart_read_headers(m, out))
        return false;
    if (!find_boundary(m, m->rest, 0, &at, &end))
        return multipart_fail(m, "a part does not end");
    out->content = sf_str_part(m->rest, 0, at);
    m->rest = sf_str_from_at(m->rest, end);
    return true;
}
