#include "query/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "query/word_hint.h"

void sf_parser_next(struct sf_parser *p)
{
    struct sf_token t = {0};
    if (p->err)
        return;
    p->err = sf_lexer_next(&p->lexer, &t, p->why);
    if (p->err) {
        p->fault = (struct sf_query_fault){p->lexer.fault.line, p->lexer.fault.column, 1};
        p->token = (struct sf_token){.kind = SF_TOKEN_END};
        return;
    }
    p->token = t;
}

bool sf_parser_is_sign(const struct sf_parser *p, const char *sign)
{
    return p->token.kind == SF_TOKEN_SIGN && sf_str_eq(p->token.text, sf_str_from(sign));
}

bool sf_parser_is_word(const struct sf_parser *p, const char *word)
{
    return p->token.kind == SF_TOKEN_WORD && sf_str_eq(p->token.text, sf_str_from(word));
}

bool sf_parser_take_sign(struct sf_parser *p, const char *sign)
{
    if (!sf_parser_is_sign(p, sign))
        return false;
    sf_parser_next(p);
    return true;
}

bool sf_parser_need_sign(struct sf_parser *p, const char *sign)
{
    if (sf_parser_take_sign(p, sign))
        return !p->err;
    sf_parser_unexpected(p, sign);
    return false;
}

static void set_fault(struct sf_parser *p, enum sf_err err)
{
    p->err = err;
    p->token = (struct sf_token){.kind = SF_TOKEN_END, .place = p->token.place};
}

void sf_parser_unexpected_word(struct sf_parser *p, const char *expecting, const char *const *known,
                               size_t n_known)
{
    const struct sf_token *t = &p->token;
    sf_str text = t->kind == SF_TOKEN_END ? SF_STR("end of query") : sf_str_part(t->text, 0, 40);
    char hint[SF_WORD_HINT_LEN];
    if (p->err)
        return;
    sf_word_hint(p, known, n_known, hint);
    p->fault = (struct sf_query_fault){t->place.line, t->place.column,
                                       t->text.len ? (uint32_t)t->text.len : 1};
    sf_fail(p->why, SF_ERR_INPUT,
            "parse error at line %u, col %u: syntax error: unexpected %.*s, expecting %s%s",
            t->place.line, t->place.column, SF_STR_ARG(text), expecting, hint);
    set_fault(p, SF_ERR_INPUT);
}

void sf_parser_unexpected(struct sf_parser *p, const char *expecting)
{
    sf_parser_unexpected_word(p, expecting, NULL, 0);
}

void sf_parser_fail(struct sf_parser *p, enum sf_err err, struct sf_place place, const char *format,
                    ...)
{
    struct sf_why words = {0};
    char line[24] = "";
    va_list args;
    if (p->err)
        return;
    va_start(args, format);
    sf_fail_va(&words, err, format, args);
    va_end(args);
    p->fault = (struct sf_query_fault){place.line, place.column, 1};
    if (place.line > 1)
        snprintf(line, sizeof(line), "line %u, ", place.line);
    sf_fail(p->why, err, "%s (%scol %u)", words.text, line, place.column);
    set_fault(p, err);
}

bool sf_parser_enter(struct sf_parser *p)
{
    if (p->err)
        return false;
    if (p->depth == SF_QUERY_DEPTH) {
        sf_parser_fail(p, SF_ERR_LIMIT, p->token.place, "query is nested deeper than %d",
                       SF_QUERY_DEPTH);
        return false;
    }
    p->depth++;
    return true;
}

void sf_parser_leave(struct sf_parser *p)
{
    p->depth--;
}

bool sf_parser_stack(struct sf_parser *p, struct sf_place place, uint32_t left, uint32_t right,
                     uint32_t *out)
{
    *out = (left > right ? left : right) + 1;
    if (*out <= SF_QUERY_HEIGHT)
        return true;
    sf_parser_fail(p, SF_ERR_LIMIT, place, "more than %d operators build on each other",
                   SF_QUERY_HEIGHT);
    return false;
}

void *sf_parser_new(struct sf_parser *p, size_t size)
{
    void *node = p->err ? NULL : sf_arena_new(p->req, size);
    if (!node && !p->err)
        sf_parser_fail(p, SF_ERR_LIMIT, p->token.place, "query is too large");
    return node;
}
