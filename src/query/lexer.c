/* lexer.c - splits TraceQL into tokens. The first character decides the kind: string, number or
 * duration, attribute, word, sign. Attributes with a scope prefix are read here as a whole, because
 * a name ends at other characters than a word does. */
#include "query/lexer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/setting.h"
#include "base/text.h"

static char lexer_peek(const struct sf_lexer *l, size_t ahead)
{
    return l->text.len - l->at > ahead ? l->text.p[l->at + ahead] : 0;
}

static bool lexer_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool lexer_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static enum sf_err lexer_fault(struct sf_lexer *l, size_t off, struct sf_why *why, const char *what)
{
    l->fault = (struct sf_place){1, 1};
    for (size_t i = 0; i < off; i++) { /* an unterminated string may have begun on an earlier
                                        * line */
        bool is_end = l->text.p[i] == '\n';
        l->fault.line += is_end;
        l->fault.column = is_end ? 1 : l->fault.column + 1;
    }
    return sf_fail(why, SF_ERR_INPUT, "parse error at line %u, col %u: %s", l->fault.line,
                   l->fault.column, what);
}

static void lexer_step(struct sf_lexer *l)
{
    if (l->text.p[l->at] == '\n') {
        l->line++;
        l->line_start = l->at + 1;
    }
    l->at++;
}

static enum sf_err lexer_skip_blanks(struct sf_lexer *l, struct sf_why *why)
{
    while (l->at < l->text.len) {
        if (is_space(lexer_peek(l, 0))) {
            lexer_step(l);
        } else if (lexer_peek(l, 0) == '/' && lexer_peek(l, 1) == '/') {
            while (l->at < l->text.len && lexer_peek(l, 0) != '\n')
                l->at++;
        } else if (lexer_peek(l, 0) == '/' && lexer_peek(l, 1) == '*') {
            size_t start = l->at;
            l->at += 2;
            while (l->at < l->text.len && !(lexer_peek(l, 0) == '*' && lexer_peek(l, 1) == '/'))
                lexer_step(l);
            if (l->at == l->text.len)
                return lexer_fault(l, start, why, "comment is not closed, expecting */");
            l->at += 2;
        } else {
            break;
        }
    }
    return SF_OK;
}

/* ---- strings ---- */

static bool lexer_read_digits(struct sf_lexer *l, unsigned n, unsigned base, uint32_t *out)
{
    uint32_t code = 0;
    while (n--) {
        int digit = sf_hex_digit(lexer_peek(l, 0));
        if (digit < 0 || (unsigned)digit >= base)
            return false;
        code = code * base + (uint32_t)digit;
        l->at++;
    }
    *out = code;
    return true;
}

/* Decodes one escape after its backslash, as in Go. */
static bool lexer_unescape(struct sf_lexer *l, struct sf_buf *out)
{
    static const char names[] = "abfnrtv\\\"'";
    static const char means[] = "\a\b\f\n\r\t\v\\\"'";
    char c = lexer_peek(l, 0);
    const char *simple = c ? strchr(names, c) : NULL;
    uint32_t code;
    if (simple) {
        sf_buf_add_u8(out, (uint8_t)means[simple - names]);
        l->at++;
        return true;
    }
    if (c >= '0' && c <= '7') {
        if (!lexer_read_digits(l, 3, 8, &code) || code > 255)
            return false;
        sf_buf_add_u8(out, (uint8_t)code);
        return true;
    }
    l->at += c != 0;
    if (c == 'x') {
        if (!lexer_read_digits(l, 2, 16, &code))
            return false;
        sf_buf_add_u8(out, (uint8_t)code);
        return true;
    }
    if ((c == 'u' && lexer_read_digits(l, 4, 16, &code)) ||
        (c == 'U' && lexer_read_digits(l, 8, 16, &code))) {
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return false;
        sf_utf8_add(out, code);
        return true;
    }
    return false;
}

static enum sf_err lexer_keep(struct sf_lexer *l, struct sf_buf *text, sf_str *out,
                              struct sf_why *why)
{
    bool is_kept = sf_buf_ok(text) && sf_arena_copy(l->req, sf_buf_str(text), out);
    sf_buf_done(text);
    return is_kept ? SF_OK : sf_no_room(why, "the query");
}

static enum sf_err lexer_read_quoted(struct sf_lexer *l, sf_str *out, struct sf_why *why)
{
    struct sf_buf text = {0};
    size_t start = l->at++;
    for (;;) {
        char c = lexer_peek(l, 0);
        if (l->at >= l->text.len || c == '\n') {
            sf_buf_done(&text);
            return lexer_fault(l, start, why, "string is not closed, expecting \"");
        }
        if (c == '"')
            break;
        if (c == '\\') {
            size_t off = l->at++;
            if (!lexer_unescape(l, &text)) {
                sf_buf_done(&text);
                return lexer_fault(
                    l, off, why,
                    "invalid escape sequence in string, expecting \\n, \\\\ and the like; "
                    "`...` takes backslashes as they are");
            }
            continue;
        }
        sf_buf_add_u8(&text, (uint8_t)c);
        l->at++;
    }
    l->at++;
    return lexer_keep(l, &text, out, why);
}

static enum sf_err read_raw(struct sf_lexer *l, sf_str *out, struct sf_why *why)
{
    size_t start = ++l->at;
    while (l->at < l->text.len && lexer_peek(l, 0) != '`')
        lexer_step(l);
    if (l->at >= l->text.len)
        return lexer_fault(l, start - 1, why, "string is not closed, expecting `");
    *out = sf_str_part(l->text, start, l->at - start);
    if (!out->p)
        *out = SF_STR("");
    l->at++;
    return SF_OK;
}

/* ---- numbers and durations ---- */

static enum sf_err lexer_read_number(struct sf_lexer *l, struct sf_token *t, struct sf_why *why)
{
    size_t start = l->at;
    bool is_float = false, has_letters = false;
    struct sf_why wrong;
    while (lexer_is_digit(lexer_peek(l, 0)) || lexer_peek(l, 0) == '.' ||
           lexer_is_letter(lexer_peek(l, 0))) {
        char c = lexer_peek(l, 0);
        is_float |= c == '.';
        if ((c == 'e' || c == 'E') && !has_letters &&
            (lexer_is_digit(lexer_peek(l, 1)) ||
             ((lexer_peek(l, 1) == '-' || lexer_peek(l, 1) == '+') &&
              lexer_is_digit(lexer_peek(l, 2))))) {
            is_float = true;
            l->at += 2;
            continue;
        }
        has_letters |= lexer_is_letter(c);
        l->at++;
    }
    t->text = sf_str_part(l->text, start, l->at - start);
    if (has_letters) {
        t->kind = SF_TOKEN_DURATION;
        if (!sf_setting_duration_parse(t->text, SF_DURATION_YEARS | SF_DURATION_POINTS, &t->i64,
                                       &wrong))
            return SF_OK;
        sf_why_prefix(&wrong, "not a number or duration such as 5, 1.5, 100ms or 1h30m");
        return lexer_fault(l, start, why, wrong.text);
    }
    if (is_float) {
        t->kind = SF_TOKEN_FLOAT;
        return sf_str_to_f64(t->text, &t->f64) ? SF_OK : lexer_fault(l, start, why, "not a number");
    }
    t->kind = SF_TOKEN_INT;
    return sf_str_to_i64(t->text, &t->i64)
               ? SF_OK
               : lexer_fault(l, start, why, "integer does not fit 64 bits");
}

/* ---- attributes ---- */

static bool ends_name(char c)
{
    return c == 0 || is_space(c) || strchr("{}()=~!<>&|^,", c);
}

static enum sf_err lexer_read_name(struct sf_lexer *l, sf_str *out, struct sf_why *why)
{
    struct sf_buf name = {0};
    size_t start = l->at;
    bool is_quoted = false; /* "" is a name that no attribute has */
    while (l->at < l->text.len && !ends_name(lexer_peek(l, 0))) {
        if (lexer_peek(l, 0) != '"') {
            sf_buf_add_u8(&name, (uint8_t)l->text.p[l->at++]);
            continue;
        }
        is_quoted = true;
        l->at++;
        while (lexer_peek(l, 0) != '"') {
            size_t off = l->at;
            char c = lexer_peek(l, 0);
            if (l->at >= l->text.len) {
                sf_buf_done(&name);
                return lexer_fault(l, start, why,
                                   "quoted attribute name is not closed, expecting \"");
            }
            if (c == '\\') {
                c = lexer_peek(l, 1);
                if (c != '"' && c != '\\') {
                    sf_buf_done(&name);
                    return lexer_fault(l, off, why, "invalid escape sequence in attribute name");
                }
                l->at++;
            }
            sf_buf_add_u8(&name, (uint8_t)c);
            lexer_step(l); /* line breaks are part of the name */
        }
        l->at++;
    }
    if (name.len == 0 && !is_quoted) {
        sf_buf_done(&name);
        return lexer_fault(l, start, why,
                           "syntax error: unexpected end of attribute, expecting its name");
    }
    return lexer_keep(l, &name, out, why);
}

struct prefix {
    const char *word;
    enum sf_attr_scope scope;
};

static const struct prefix prefixes[] = {
    {"resource", SF_SCOPE_RESOURCE},
    {"span", SF_SCOPE_SPAN},
    {"event", SF_SCOPE_EVENT},
    {"link", SF_SCOPE_LINK},
    {"instrumentation", SF_SCOPE_INSTRUMENTATION},
};

static const struct prefix *find_prefix(sf_str word)
{
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (sf_str_eq(word, sf_str_from(prefixes[i].word)))
            return &prefixes[i];
    }
    return NULL;
}

static sf_str lexer_read_word(struct sf_lexer *l)
{
    size_t start = l->at;
    while (lexer_is_letter(lexer_peek(l, 0)) || lexer_is_digit(lexer_peek(l, 0)))
        l->at++;
    return sf_str_part(l->text, start, l->at - start);
}

static enum sf_err read_attr(struct sf_lexer *l, enum sf_attr_scope scope, struct sf_token *t,
                             struct sf_why *why)
{
    t->kind = SF_TOKEN_ATTR;
    t->attr.scope = scope;
    return lexer_read_name(l, &t->attr.name, why);
}

static enum sf_err read_word_token(struct sf_lexer *l, struct sf_token *t, struct sf_why *why)
{
    sf_str word = lexer_read_word(l);
    const struct prefix *prefix = find_prefix(word);
    t->text = word;
    if (lexer_peek(l, 0) == ':' && (prefix || sf_str_eq(word, SF_STR("trace")))) {
        l->at++;
        t->kind = SF_TOKEN_SCOPE;
        return SF_OK;
    }
    if (lexer_peek(l, 0) == '.' && sf_str_eq(word, SF_STR("parent"))) {
        size_t name_at = ++l->at;
        sf_str second = lexer_read_word(l);
        prefix = find_prefix(second);
        t->is_parent = true;
        if (prefix && lexer_peek(l, 0) == '.')
            l->at++;
        else
            l->at = name_at;
        return read_attr(l, prefix && l->at != name_at ? prefix->scope : SF_SCOPE_ANY, t, why);
    }
    if (lexer_peek(l, 0) == '.' && prefix) {
        l->at++;
        return read_attr(l, prefix->scope, t, why);
    }
    if (lexer_peek(l, 0) == '.' && sf_str_eq(word, SF_STR("profile"))) {
        l->at++;
        t->kind = SF_TOKEN_SCOPE; /* only a few words may follow, as after "trace:" */
        return SF_OK;
    }
    t->kind = SF_TOKEN_WORD;
    return SF_OK;
}

/* ---- operators ---- */

static const char *const signs[] = {
    /* Longest first. */
    "!>>", "!<<", "&>>", "&<<", "!>", "!<", "!~", "!=", "&>", "&<", "&~", "&&",
    "||",  "=~",  "<=",  ">=",  ">>", "<<", "=",  "<",  ">",  "~",  "!",  "|",
    "+",   "-",   "*",   "/",   "%",  "^",  "{",  "}",  "(",  ")",  ",",
};

static const char *unexpected(char c, char *to, size_t cap)
{
    switch (c) {
    case '\'': return "syntax error: unexpected ', strings are written \"...\" or `...`";
    case '&': return "syntax error: unexpected &, and is written &&";
    case '[':
    case ']': return "syntax error: unexpected bracket, there are no lists and no [5m] ranges";
    case ';': return "syntax error: unexpected ;, expecting the end of the query";
    default: break;
    }
    snprintf(to, cap, "syntax error: unexpected %s%c, expecting a sign such as = or &&",
             c > ' ' && c < 0x7f ? "" : "character ", c > ' ' && c < 0x7f ? c : '?');
    return to;
}

static enum sf_err read_sign(struct sf_lexer *l, struct sf_token *t, struct sf_why *why)
{
    sf_str rest = sf_str_from_at(l->text, l->at);
    char words[80];
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        sf_str sign = sf_str_from(signs[i]);
        if (sf_str_starts(rest, sign)) {
            t->kind = SF_TOKEN_SIGN;
            t->text = sf_str_part(rest, 0, sign.len);
            l->at += sign.len;
            return SF_OK;
        }
    }
    return lexer_fault(l, l->at, why, unexpected(rest.p[0], words, sizeof(words)));
}

enum sf_err sf_lexer_next(struct sf_lexer *l, struct sf_token *out, struct sf_why *why)
{
    enum sf_err err = lexer_skip_blanks(l, why);
    struct sf_token t = {0};
    char c;
    if (err)
        return err;
    t.off = l->at;
    t.place = (struct sf_place){l->line, (uint32_t)(l->at - l->line_start + 1)};
    c = lexer_peek(l, 0);
    if (l->at >= l->text.len) {
        t.kind = SF_TOKEN_END;
    } else if (c == '"') {
        t.kind = SF_TOKEN_STRING;
        err = lexer_read_quoted(l, &t.str, why);
    } else if (c == '`') {
        t.kind = SF_TOKEN_STRING;
        err = read_raw(l, &t.str, why);
    } else if (lexer_is_digit(c) || (c == '.' && lexer_is_digit(lexer_peek(l, 1)))) {
        err = lexer_read_number(l, &t, why);
    } else if (c == '.') {
        l->at++;
        err = read_attr(l, SF_SCOPE_ANY, &t, why);
    } else if (lexer_is_letter(c)) {
        err = read_word_token(l, &t, why);
    } else {
        err = read_sign(l, &t, why);
    }
    if (err)
        return err;
    if (!t.text.len || t.kind == SF_TOKEN_ATTR)
        t.text = sf_str_part(l->text, t.off, l->at - t.off);
    *out = t;
    return SF_OK;
}
