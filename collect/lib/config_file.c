#include "collect/lib/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20, DEPTH = 8, NAME_CAP = 128, VARS_MAX = 64 * 1024 };

struct parse {
    struct sf_config_file *f;
    char name[NAME_CAP]; /* name of the current section: "SPANFLAME_PROFILING_CPU" */
    uint32_t line;
    struct sf_why *why;
};

static enum sf_err config_file_refuse(struct parse *p, const char *what)
{
    return sf_fail(p->why, SF_ERR_INPUT, "configuration, line %u: %s", p->line, what);
}

/* Appends "_KEY" to a name of `len` bytes; returns the new length, 0: not a possible key. */
static size_t name_add(struct parse *p, size_t len, sf_str key)
{
    if (!key.len || len > NAME_CAP - 2 || key.len > NAME_CAP - 2 - len)
        return 0;
    p->name[len++] = '_';
    for (size_t i = 0; i < key.len; i++) {
        char c = key.p[i];
        if (c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        if (!((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
            return 0;
        p->name[len++] = c;
    }
    p->name[len] = 0;
    return len;
}

static sf_str unquote(sf_str v)
{
    bool is_quoted = v.len >= 2 && (v.p[0] == '"' || v.p[0] == '\'') && v.p[v.len - 1] == v.p[0];
    return is_quoted ? sf_str_part(v, 1, v.len - 2) : v;
}

/* An entry that does not fit is left out whole: readers go from one terminator to the next. */
static void config_file_keep(struct parse *p, size_t len, sf_str val)
{
    size_t before = p->f->vars.len;
    val = unquote(val);
    val.len = val.len ? strnlen(val.p, val.len) : 0;
    sf_buf_add(&p->f->vars, p->name, len);
    sf_buf_add_u8(&p->f->vars, 0);
    sf_buf_add_str(&p->f->vars, val);
    sf_buf_add_u8(&p->f->vars, 0);
    sf_buf_print(&p->f->vars, "%u", p->line);
    sf_buf_add_u8(&p->f->vars, 0);
    if (!sf_buf_ok(&p->f->vars))
        p->f->vars.len = before;
}

/* The line without a comment: '#' at the beginning or after a blank, outside quotes. */
static sf_str without_comment(sf_str line)
{
    char quote = 0;
    for (size_t i = 0; i < line.len; i++) {
        char c = line.p[i];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '#' && (!i || line.p[i - 1] == ' ' || line.p[i - 1] == '\t'))
            return sf_str_part(line, 0, i);
    }
    return line;
}

/* "{enabled: true, sample_rate: 100}", nested at most a few times. */
static enum sf_err parse_braces(struct parse *p, size_t len, sf_str *rest, int depth)
{
    enum sf_err err = SF_OK;
    if (depth > DEPTH)
        return config_file_refuse(p, "nested too deep");
    *rest = sf_str_trim(sf_str_from_at(*rest, 1));
    while (!err && rest->len && rest->p[0] != '}') {
        size_t colon, end = 0, name;
        if (!sf_str_find_char(*rest, ':', &colon))
            return config_file_refuse(p, "a key without a value");
        name = name_add(p, len, sf_str_trim(sf_str_part(*rest, 0, colon)));
        if (!name)
            return config_file_refuse(p, "not a key");
        *rest = sf_str_trim(sf_str_from_at(*rest, colon + 1));
        if (rest->len && rest->p[0] == '{') {
            err = parse_braces(p, name, rest, depth + 1);
        } else {
            while (end < rest->len && rest->p[end] != ',' && rest->p[end] != '}')
                end++;
            config_file_keep(p, name, sf_str_trim(sf_str_part(*rest, 0, end)));
            *rest = sf_str_from_at(*rest, end);
        }
        p->name[len] = 0;
        *rest = sf_str_trim(*rest);
        if (rest->len && rest->p[0] == ',')
            *rest = sf_str_trim(sf_str_from_at(*rest, 1));
    }
    if (!err && !rest->len)
        return config_file_refuse(p, "braces must close on their line");
    if (!err)
        *rest = sf_str_trim(sf_str_from_at(*rest, 1));
    return err;
}

struct level {
    size_t indent, len; /* indentation of its keys; length of the section's name */
};

static enum sf_err config_file_parse_line(struct parse *p, sf_str text, size_t len, size_t *out_len)
{
    size_t colon;
    sf_str val;
    *out_len = 0;
    if (!sf_str_find_char(text, ':', &colon))
        return config_file_refuse(p, "neither a key nor a section");
    *out_len = name_add(p, len, sf_str_trim(sf_str_part(text, 0, colon)));
    if (!*out_len)
        return config_file_refuse(p, "not a key");
    val = sf_str_trim(sf_str_from_at(text, colon + 1));
    if (val.len && val.p[0] == '{') {
        enum sf_err err = parse_braces(p, *out_len, &val, 1);
        if (!err && val.len)
            return config_file_refuse(p, "unexpected text after the braces");
        return err;
    }
    if (val.len)
        config_file_keep(p, *out_len, val);
    return SF_OK;
}

enum sf_err sf_config_file_parse(struct sf_config_file *f, sf_str text, struct sf_why *why)
{
    static const char prefix[] = "SPANFLAME";
    struct parse p = {.f = f, .why = why};
    struct level levels[DEPTH] = {{0, sizeof(prefix) - 1}};
    int depth = 0;
    bool is_ours = false;
    sf_str line;
    f->vars.max = VARS_MAX;
    memcpy(p.name, prefix, sizeof(prefix));
    while (sf_str_split_next(&text, '\n', &line)) {
        size_t indent = 0, len;
        enum sf_err err;
        p.line++;
        line = without_comment(line);
        while (indent < line.len && line.p[indent] == ' ')
            indent++;
        line = sf_str_trim(line);
        if (!line.len || sf_str_starts(line, SF_STR("---")))
            continue;
        if (!indent) { /* a top-level key of the file */
            is_ours = sf_str_starts(line, SF_STR("profiling:"));
            depth = 0;
        }
        if (!is_ours)
            continue;
        while (depth > 0 && indent < levels[depth].indent)
            depth--;
        if (indent > levels[depth].indent) {
            size_t above = strlen(p.name);
            if (depth + 1 == DEPTH)
                return config_file_refuse(&p, "nested too deep");
            levels[++depth] = (struct level){indent, above};
        }
        p.name[levels[depth].len] = 0;
        err = config_file_parse_line(&p, line, levels[depth].len, &len);
        if (err)
            return err;
    }
    return sf_buf_ok(&f->vars) ? SF_OK
                               : sf_fail(why, SF_ERR_LIMIT,
                                         "configuration: its settings take more than %d bytes, or "
                                         "there is no memory for them",
                                         VARS_MAX);
}

enum sf_err sf_config_file_read(struct sf_config_file *f, const char *path, struct sf_why *why)
{
    struct sf_buf text = {.max = FILE_MAX};
    enum sf_err err = SF_OK;
    char part[4096];
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, part, sizeof(part))) > 0)
        sf_buf_add(&text, part, (size_t)n);
    if (n < 0)
        err = sf_fail(why, SF_ERR_IO, "%.160s: %s", path, strerror(errno));
    else if (!sf_buf_ok(&text))
        err = sf_fail(why, SF_ERR_LIMIT, "%.160s: too long for a configuration", path);
    if (fd >= 0)
        close(fd);
    if (!err)
        err = sf_config_file_parse(f, sf_buf_str(&text), why);
    sf_buf_done(&text);
    return err;
}

/* The last value of that name, followed by its line number. */
static const char *config_file_find(const struct sf_config_file *f, const char *name, bool is_line)
{
    const char *p = (const char *)f->vars.p, *found = NULL;
    const char *end = p ? p + f->vars.len : NULL;
    while (p && p < end) {
        const char *val = p + strlen(p) + 1, *line = val + strlen(val) + 1;
        if (!strcmp(p, name))
            found = is_line ? line : val;
        p = line + strlen(line) + 1;
    }
    return found;
}

const char *sf_config_file_get(const struct sf_config_file *f, const char *name)
{
    return config_file_find(f, name, false);
}

const char *sf_config_file_line(const struct sf_config_file *f, const char *name)
{
    return config_file_find(f, name, true);
}

void sf_config_file_done(struct sf_config_file *f)
{
    sf_buf_done(&f->vars);
}
