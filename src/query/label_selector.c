#include "query/label_selector.h"

enum { MAX_MATCHERS = 64 };

struct reading {
    sf_str text;
    size_t at;
    struct sf_arena *req;
    struct sf_why *why;
    bool is_loose;
};

static enum sf_err label_selector_fail(struct reading *r, const char *what)
{
    return sf_fail(r->why, SF_ERR_INPUT, "selector: %s at position %zu", what, r->at + 1);
}

static char label_selector_peek(const struct reading *r)
{
    return r->at < r->text.len ? r->text.p[r->at] : 0;
}

static void label_selector_skip_blanks(struct reading *r)
{
    while (label_selector_peek(r) == ' ' || label_selector_peek(r) == '\t' ||
           label_selector_peek(r) == '\n' || label_selector_peek(r) == '\r')
        r->at++;
}

static bool label_selector_is_name(char c, bool has_colons)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (has_colons && (c == ':' || c == '.' || c == '-'));
}

static sf_str label_selector_read_name(struct reading *r, bool has_colons)
{
    size_t from = r->at;
    while (label_selector_is_name(label_selector_peek(r), has_colons))
        r->at++;
    return sf_str_part(r->text, from, r->at - from);
}

static enum sf_err label_selector_read_quoted(struct reading *r, sf_str *out)
{
    char quote = label_selector_peek(r), *to;
    size_t n = 0;
    if (quote != '"' && quote != '\'' && quote != '`')
        return label_selector_fail(r, "a quoted value is expected");
    to = sf_arena_raw(r->req, r->text.len - r->at + 1, 1);
    if (!to)
        return sf_fail(r->why, SF_ERR_LIMIT, "selector: no memory for a value");
    for (r->at++; label_selector_peek(r) != quote; r->at++) {
        char c = label_selector_peek(r);
        if (r->at >= r->text.len)
            return label_selector_fail(r, "a closing quote is missing");
        if (c == '\\' && quote != '`') {
            r->at++;
            c = label_selector_peek(r);
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
        to[n++] = c;
    }
    r->at++;
    *out = (sf_str){to, n};
    return SF_OK;
}

/* Up to the next comma or brace. */
static enum sf_err read_bare(struct reading *r, sf_str *out)
{
    size_t from = r->at;
    while (r->at < r->text.len && label_selector_peek(r) != ',' && label_selector_peek(r) != '}')
        r->at++;
    *out = sf_str_trim(sf_str_part(r->text, from, r->at - from));
    return out->len ? SF_OK : label_selector_fail(r, "a value is expected");
}

static enum sf_err read_op(struct reading *r, enum sf_op *out)
{
    char a = label_selector_peek(r), b;
    r->at++;
    b = label_selector_peek(r);
    if (a == '=' && b == '~')
        *out = SF_OP_MATCH;
    else if (a == '!' && b == '~')
        *out = SF_OP_NO_MATCH;
    else if (a == '!' && b == '=')
        *out = SF_OP_NE;
    else if (a == '=')
        *out = SF_OP_EQ;
    else
        return label_selector_fail(r, "=, !=, =~ or !~ is expected");
    r->at += a == '!' || b == '~';
    return SF_OK;
}

static enum sf_err label_selector_add(struct reading *r, struct sf_label_selector *io,
                                      struct sf_matcher m)
{
    unsigned n_colons = 0;
    for (size_t i = 0; i < m.val.len; i++)
        n_colons += m.val.p[i] == ':';
    if (sf_str_eq(m.key, SF_STR("__name__")) && m.op == SF_OP_EQ && n_colons >= 4)
        m.key = SF_STR("__profile_type__");
    if (!io->list) {
        io->list = sf_arena_new_n(r->req, MAX_MATCHERS, sizeof(*io->list));
        io->cap = io->list ? MAX_MATCHERS : 0;
    }
    if (io->n == io->cap)
        return sf_fail(r->why, SF_ERR_LIMIT, "selector: more than %d matchers", MAX_MATCHERS);
    io->list[io->n++] = m;
    return SF_OK;
}

static enum sf_err label_selector_read_matcher(struct reading *r, struct sf_label_selector *io)
{
    struct sf_matcher m = {.op = SF_OP_EQ};
    bool is_quoted = label_selector_peek(r) == '"' || label_selector_peek(r) == '\'';
    enum sf_err err = SF_OK;
    if (is_quoted)
        err = label_selector_read_quoted(r, &m.key);
    else
        m.key = label_selector_read_name(r, r->is_loose);
    if (!err && m.key.len == 0)
        err = label_selector_fail(r, "a label's name is expected");
    label_selector_skip_blanks(r);
    if (!err && is_quoted && (label_selector_peek(r) == '}' || label_selector_peek(r) == ','))
        return label_selector_add(r, io, (struct sf_matcher){SF_STR("__name__"), SF_OP_EQ, m.key});
    if (!err)
        err = read_op(r, &m.op);
    label_selector_skip_blanks(r);
    if (!err && r->is_loose && label_selector_peek(r) != '"' && label_selector_peek(r) != '\'' &&
        label_selector_peek(r) != '`')
        err = read_bare(r, &m.val);
    else if (!err)
        err = label_selector_read_quoted(r, &m.val);
    return err ? err : label_selector_add(r, io, m);
}

/* Reads the part before the brace: a type or a metric's name or, in the loose form, a service. */
static enum sf_err read_front(struct reading *r, struct sf_label_selector *io)
{
    struct sf_matcher m = {SF_STR("__name__"), SF_OP_EQ, SF_STR_NONE};
    size_t brace = r->text.len, colon;
    if (!r->is_loose) {
        m.val = label_selector_read_name(r, true);
        return m.val.len ? label_selector_add(r, io, m) : SF_OK;
    }
    (void)sf_str_find_char(r->text, '{', &brace);
    m.val = sf_str_trim(sf_str_part(r->text, 0, brace));
    r->at = brace;
    if (m.val.len == 0)
        return SF_OK;
    m.key = sf_str_find_char(m.val, ':', &colon) ? SF_STR("__profile_type__")
                                                 : SF_STR("service_name");
    return label_selector_add(r, io, m);
}

static enum sf_err label_selector_parse(struct reading *r, struct sf_label_selector *io)
{
    enum sf_err err = read_front(r, io);
    label_selector_skip_blanks(r);
    if (err || r->at == r->text.len)
        return err;
    if (label_selector_peek(r) != '{')
        return label_selector_fail(r, "{ is expected");
    r->at++;
    for (;;) {
        label_selector_skip_blanks(r);
        if (label_selector_peek(r) == '}')
            break;
        err = label_selector_read_matcher(r, io);
        if (err)
            return err;
        label_selector_skip_blanks(r);
        if (label_selector_peek(r) == ',')
            r->at++;
        else if (label_selector_peek(r) != '}')
            return label_selector_fail(r, ", or } is expected");
    }
    r->at++;
    return r->at == r->text.len ? SF_OK : label_selector_fail(r, "the end is expected");
}

enum sf_err sf_label_selector_parse(sf_str text, struct sf_arena *req, struct sf_label_selector *io,
                                    struct sf_why *why)
{
    struct reading r = {.text = sf_str_trim(text), .req = req, .why = why};
    return label_selector_parse(&r, io);
}

enum sf_err sf_label_selector_parse_loose(sf_str text, struct sf_arena *req,
                                          struct sf_label_selector *io, struct sf_why *why)
{
    struct reading r = {.text = sf_str_trim(text), .req = req, .why = why, .is_loose = true};
    return label_selector_parse(&r, io);
}

static void label_selector_add_quoted(struct sf_buf *out, sf_str text)
{
    sf_buf_add_u8(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] == '"' || text.p[i] == '\\')
            sf_buf_add_u8(out, '\\');
        if (text.p[i] == '\n')
            sf_buf_add_str(out, SF_STR("\\n"));
        else
            sf_buf_add_u8(out, (uint8_t)text.p[i]);
    }
    sf_buf_add_u8(out, '"');
}

void sf_label_selector_render(const struct sf_label_selector *s, struct sf_buf *out)
{
    sf_buf_add_u8(out, '{');
    for (size_t i = 0; i < s->n; i++) {
        const struct sf_matcher *m = &s->list[i];
        if (i)
            sf_buf_add_u8(out, ',');
        label_selector_add_quoted(out, m->key);
        sf_buf_add_str(out, m->op == SF_OP_MATCH      ? SF_STR("=~")
                            : m->op == SF_OP_NO_MATCH ? SF_STR("!~")
                            : m->op == SF_OP_NE       ? SF_STR("!=")
                                                      : SF_STR("="));
        label_selector_add_quoted(out, m->val);
    }
    sf_buf_add_u8(out, '}');
}
