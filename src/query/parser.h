/* parser.h - shared state of the parser's parts: the current token, the arena, the first error. */
#pragma once
#include "query/lexer.h"
#include "query/query_parse.h"

struct sf_parser {
    struct sf_lexer lexer;
    struct sf_token token; /* the current token */
    struct sf_arena *req;
    enum sf_err err; /* the first error is kept; then the token is END */
    struct sf_why *why;
    struct sf_query_fault fault;
    unsigned depth;
    unsigned n_braces; /* 1 between { and } */
    uint32_t n_exprs;
};

void sf_parser_next(struct sf_parser *p);
bool sf_parser_is_sign(const struct sf_parser *p, const char *sign);
bool sf_parser_is_word(const struct sf_parser *p, const char *word);
bool sf_parser_take_sign(struct sf_parser *p, const char *sign); /* skips the sign if it is the
                                                                  * current token */
bool sf_parser_need_sign(struct sf_parser *p, const char *sign); /* else a fault */
/* Reports "syntax error: unexpected X, expecting Y" at the current token. */
void sf_parser_unexpected(struct sf_parser *p, const char *expecting);
/* The same, with a suggestion from a list of words. */
void sf_parser_unexpected_word(struct sf_parser *p, const char *expecting, const char *const *known,
                               size_t n_known);
/* Reports an error at that position. */
void sf_parser_fail(struct sf_parser *p, enum sf_err err, struct sf_place place, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));
bool sf_parser_enter(struct sf_parser *p); /* one level deeper; false with an error when too deep */
void sf_parser_leave(struct sf_parser *p);
/* The height of a node above two others; false with an error when too high. */
bool sf_parser_stack(struct sf_parser *p, struct sf_place place, uint32_t left, uint32_t right,
                     uint32_t *out);
void *sf_parser_new(struct sf_parser *p, size_t size); /* NULL: an error */

/* expr_parse.c: parses a field expression up to a token that cannot belong to it. NULL: an
 * error. */
const struct sf_expr *sf_expr_parse(struct sf_parser *p);
bool sf_expr_parse_attr(struct sf_parser *p,
                        struct sf_query_attr *out);    /* one attribute or intrinsic */
bool sf_expr_parse_is_attr(const struct sf_parser *p); /* the current token is one */
bool sf_expr_parse_literal(struct sf_parser *p,
                           struct sf_static *out); /* one literal, perhaps signed */
bool sf_expr_parse_plain_literal(struct sf_parser *p, struct sf_static *out); /* without a sign */

/* expr_check.c: type checks. Each returns false with an error. */
bool sf_expr_check_filter(struct sf_parser *p, const struct sf_expr *e);
/* For an attribute that is selected, grouped by or measured: it must have one value per span. */
bool sf_expr_check_one_value(struct sf_parser *p, const struct sf_query_attr *a,
                             struct sf_place place);
bool sf_expr_check(struct sf_parser *p, const struct sf_expr *e);
bool sf_expr_check_has_attr(const struct sf_expr *e);
bool sf_expr_check_type_is_number(enum sf_static_type t);
