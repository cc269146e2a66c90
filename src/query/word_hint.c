#include "query/word_hint.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* ---- operators and words of other languages ---- */

struct habit {
    const char *word, *hint;
};

static const struct habit habits[] = {
    {"and", "; and is written &&"},
    {"AND", "; and is written &&"},
    {"or", "; or is written ||"},
    {"OR", "; or is written ||"},
    {"not", "; not is written !( )"},
    {"NOT", "; not is written !( )"},
    {"like", "; patterns are compared with =~"},
    {"LIKE", "; patterns are compared with =~"},
    {"contains", "; parts are found with =~ \".*part.*\""},
    {"in", "; one of several is =~ \"a|b\""},
    {"IN", "; one of several is =~ \"a|b\""},
    {"is", "; compare with = nil or != nil"},
    {"null", "; what is missing is called nil"},
    {"NULL", "; what is missing is called nil"},
    {"None", "; what is missing is called nil"},
    {"ms", "; durations have no space: 500ms"},
    {"us", "; durations have no space: 500us"},
    {"ns", "; durations have no space: 500ns"},
    {"s", "; durations have no space: 5s"},
    {"m", "; durations have no space: 5m"},
    {"h", "; durations have no space: 5h"},
    {"span", "; attributes have no space: span.name"},
    {"resource", "; attributes have no space: resource.name"},
};

static const char *habit_of(sf_str word)
{
    for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++) {
        if (sf_str_eq(word, sf_str_from(habits[i].word)))
            return habits[i].hint;
    }
    return NULL;
}

static const char *sign_hint(const struct sf_parser *p)
{
    const struct sf_token *t = &p->token;
    char before = t->off ? p->lexer.text.p[t->off - 1] : 0;
    if (sf_parser_is_sign(p, "=") && before == '=')
        return "; equal is written =";
    if (sf_parser_is_sign(p, ">") && before == '<')
        return "; unequal is written !=";
    if (sf_parser_is_sign(p, "|") && p->n_braces)
        return "; or is written ||";
    if (sf_parser_is_sign(p, ",") && p->n_braces)
        return "; conditions are joined by && or ||";
    return NULL;
}

/* ---- names ---- */

/* A word followed by a dot: an attribute whose scope is mistyped or missing. */
static void dotted_hint(const struct sf_parser *p, char *out)
{
    static const char *const scopes[] = {"span", "resource",        "event",
                                         "link", "instrumentation", "profile"};
    sf_str rest = sf_str_from_at(p->lexer.text, p->lexer.at);
    const char *scope = sf_text_nearest(p->token.text, scopes, 6);
    size_t len = 0;
    while (len < rest.len && len < 40 && rest.p[len] > ' ' && !strchr("{}()=~!<>&|^,", rest.p[len]))
        len++;
    if (sf_str_eq(p->token.text, SF_STR("service")) || sf_str_starts(p->token.text, SF_STR("k8s")))
        snprintf(out, SF_WORD_HINT_LEN, "; did you mean resource.%.*s%.*s?",
                 SF_STR_ARG(sf_str_part(p->token.text, 0, 20)), (int)len, rest.p);
    else if (scope)
        snprintf(out, SF_WORD_HINT_LEN, "; did you mean %s%.*s?", scope, (int)len, rest.p);
    else
        snprintf(out, SF_WORD_HINT_LEN, "; did you mean .%.*s%.*s?",
                 SF_STR_ARG(sf_str_part(p->token.text, 0, 20)), (int)len, rest.p);
}

/* After a comparison a word is probably meant as text. */
static bool is_compared(const struct sf_parser *p)
{
    size_t at = p->token.off;
    while (at && p->lexer.text.p[at - 1] == ' ')
        at--;
    return at && memchr("=~<>", p->lexer.text.p[at - 1], 4);
}

void sf_word_hint(const struct sf_parser *p, const char *const *known, size_t n_known,
                  char out[SF_WORD_HINT_LEN])
{
    const struct sf_token *t = &p->token;
    const char *hint = NULL, *near = NULL;
    out[0] = 0;
    if (t->kind == SF_TOKEN_SIGN)
        hint = sign_hint(p);
    else if (t->kind == SF_TOKEN_WORD)
        hint = habit_of(t->text);
    if (!hint && t->kind == SF_TOKEN_WORD)
        near = sf_text_nearest(t->text, known, n_known);
    if (hint)
        snprintf(out, SF_WORD_HINT_LEN, "%s", hint);
    else if (t->kind == SF_TOKEN_WORD && p->lexer.at < p->lexer.text.len &&
             p->lexer.text.p[p->lexer.at] == '.')
        dotted_hint(p, out);
    else if (near && sf_str_eq(t->text, sf_str_from(near)))
        snprintf(out, SF_WORD_HINT_LEN, "; %s() stands behind { } |", near);
    else if (near)
        snprintf(out, SF_WORD_HINT_LEN, "; did you mean %s?", near);
    else if (t->kind == SF_TOKEN_WORD && p->n_braces && is_compared(p))
        snprintf(out, SF_WORD_HINT_LEN, "; text is written \"%.*s\"",
                 SF_STR_ARG(sf_str_part(t->text, 0, 30)));
}
