/* lexer.h - splits TraceQL text into tokens.
 *
 * Attribute names are scanned here, because a name ends at other characters (blank, brace,
 * comparison) than a word: `span.a*2` is one attribute, `span.a * 2` is a product. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "query/ast.h"

enum sf_token_kind {
    SF_TOKEN_END,
    SF_TOKEN_STRING,
    SF_TOKEN_INT,
    SF_TOKEN_FLOAT,
    SF_TOKEN_DURATION,
    SF_TOKEN_WORD,  /* keyword or identifier; `text` */
    SF_TOKEN_ATTR,  /* scoped or unscoped attribute; `attr` */
    SF_TOKEN_SCOPE, /* "trace:", "span:", ... and "profile."; `text` without the sign */
    SF_TOKEN_SIGN   /* operator, bracket or comma; `text` */
};

struct sf_token {
    enum sf_token_kind kind;
    sf_str text; /* as typed */
    size_t off;  /* byte offset in the query */
    struct sf_place place;
    sf_str str;  /* STRING: unescaped */
    int64_t i64; /* INT, DURATION (ns) */
    double f64;  /* FLOAT */
    struct sf_query_attr attr;
    bool is_parent; /* ATTR: preceded by "parent." */
};

struct sf_lexer {
    sf_str text;
    size_t at;
    uint32_t line;
    size_t line_start;
    struct sf_arena *req;  /* memory for unescaped strings */
    struct sf_place fault; /* position of the error */
};

/* INPUT with line, column and what was expected. At the end: SF_TOKEN_END, also when called
 * again. */
enum sf_err sf_lexer_next(struct sf_lexer *l, struct sf_token *out, struct sf_why *why);
