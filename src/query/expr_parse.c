/* expr_parse.c - field expressions by precedence climbing.
 *
 *   2  && ||          (one level, left to right)
 *   3  = != < <= > >= =~ !~
 *   4  + - and prefix -
 *   5  prefix !
 *   6  * / %
 *   7  ^              (right to left)
 *
 * So -.a * 2 is -(.a * 2), and !.a = .b is (!.a) = .b. Sub-expressions of literals are folded. */
#include "base/invariant.h"
#include "model/span.h"
#include "query/expr_fold.h"
#include "query/parser.h"

struct binary {
    const char *sign;
    enum sf_expr_op op;
    unsigned level;
};

static const struct binary binaries[] = {
    {"&&", SF_EXPR_AND, 2},      {"||", SF_EXPR_OR, 2}, {"=", SF_EXPR_EQ, 3},
    {"!=", SF_EXPR_NE, 3},       {"<", SF_EXPR_LT, 3},  {"<=", SF_EXPR_LE, 3},
    {">", SF_EXPR_GT, 3},        {">=", SF_EXPR_GE, 3}, {"=~", SF_EXPR_MATCH, 3},
    {"!~", SF_EXPR_NO_MATCH, 3}, {"+", SF_EXPR_ADD, 4}, {"-", SF_EXPR_SUB, 4},
    {"*", SF_EXPR_MUL, 6},       {"/", SF_EXPR_DIV, 6}, {"%", SF_EXPR_MOD, 6},
    {"^", SF_EXPR_POW, 7},
};

static const struct binary *binary_in_hand(const struct sf_parser *p)
{
    for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++) {
        if (sf_parser_is_sign(p, binaries[i].sign))
            return &binaries[i];
    }
    return NULL;
}

struct name {
    const char *scope; /* NULL: bare word */
    const char *word;
    enum sf_intrinsic intrinsic;
};

static const struct name names[] = {
    {NULL, "name", SF_INTRINSIC_NAME},
    {NULL, "duration", SF_INTRINSIC_DURATION},
    {NULL, "status", SF_INTRINSIC_STATUS},
    {NULL, "statusMessage", SF_INTRINSIC_STATUS_MESSAGE},
    {NULL, "kind", SF_INTRINSIC_KIND},
    {NULL, "rootName", SF_INTRINSIC_ROOT_NAME},
    {NULL, "rootServiceName", SF_INTRINSIC_ROOT_SERVICE},
    {NULL, "traceDuration", SF_INTRINSIC_TRACE_DURATION},
    {NULL, "nestedSetLeft", SF_INTRINSIC_NESTED_LEFT},
    {NULL, "nestedSetRight", SF_INTRINSIC_NESTED_RIGHT},
    {NULL, "nestedSetParent", SF_INTRINSIC_NESTED_PARENT},
    {"span", "name", SF_INTRINSIC_NAME},
    {"span", "duration", SF_INTRINSIC_DURATION},
    {"span", "status", SF_INTRINSIC_STATUS},
    {"span", "statusMessage", SF_INTRINSIC_STATUS_MESSAGE},
    {"span", "kind", SF_INTRINSIC_KIND},
    {"span", "id", SF_INTRINSIC_SPAN_ID},
    {"span", "parentID", SF_INTRINSIC_PARENT_ID},
    {"span", "childCount", SF_INTRINSIC_CHILD_COUNT},
    {"trace", "duration", SF_INTRINSIC_TRACE_DURATION},
    {"trace", "rootName", SF_INTRINSIC_ROOT_NAME},
    {"trace", "rootService", SF_INTRINSIC_ROOT_SERVICE},
    {"trace", "id", SF_INTRINSIC_TRACE_ID},
    {"event", "name", SF_INTRINSIC_EVENT_NAME},
    {"event", "timeSinceStart", SF_INTRINSIC_EVENT_TIME},
    {"link", "traceID", SF_INTRINSIC_LINK_TRACE_ID},
    {"link", "spanID", SF_INTRINSIC_LINK_SPAN_ID},
    {"instrumentation", "name", SF_INTRINSIC_SCOPE_NAME},
    {"instrumentation", "version", SF_INTRINSIC_SCOPE_VERSION},
    {"profile", "frame", SF_INTRINSIC_PROFILE_FRAME},
    {"profile", "cpu", SF_INTRINSIC_PROFILE_CPU},
    {"profile", "wall", SF_INTRINSIC_PROFILE_WALL},
    {"profile", "lock", SF_INTRINSIC_PROFILE_LOCK},
    {"profile", "mutex", SF_INTRINSIC_PROFILE_LOCK},
    {"profile", "block", SF_INTRINSIC_PROFILE_BLOCK},
    {"profile", "off_cpu", SF_INTRINSIC_PROFILE_OFF_CPU},
    {"profile", "alloc", SF_INTRINSIC_PROFILE_ALLOC},
};

static enum sf_intrinsic find_intrinsic(sf_str scope, sf_str word)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (sf_str_eq(sf_str_from(names[i].scope), scope) &&
            sf_str_eq(sf_str_from(names[i].word), word))
            return names[i].intrinsic;
    }
    return SF_INTRINSIC_NONE;
}

bool sf_expr_parse_is_attr(const struct sf_parser *p)
{
    return p->token.kind == SF_TOKEN_ATTR || p->token.kind == SF_TOKEN_SCOPE ||
           (p->token.kind == SF_TOKEN_WORD && find_intrinsic(SF_STR_NONE, p->token.text));
}

/* The words of a scope, for a suggestion. */
static size_t words_of(sf_str scope, const char **out)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (sf_str_eq(sf_str_from(names[i].scope), scope))
            out[n++] = names[i].word;
    }
    return n;
}

bool sf_expr_parse_attr(struct sf_parser *p, struct sf_query_attr *out)
{
    const char *words[sizeof(names) / sizeof(names[0])];
    struct sf_query_attr attr = {.scope = SF_SCOPE_INTRINSIC};
    if (p->token.kind == SF_TOKEN_ATTR) {
        if (p->token.is_parent) {
            sf_parser_fail(p, SF_ERR_INPUT, p->token.place, "parent not yet supported");
            return false;
        }
        attr = p->token.attr;
        attr.intrinsic = SF_INTRINSIC_NONE;
    } else if (p->token.kind == SF_TOKEN_SCOPE) {
        sf_str scope = p->token.text;
        sf_parser_next(p);
        if (p->token.kind == SF_TOKEN_WORD)
            attr.intrinsic = find_intrinsic(scope, p->token.text);
        if (!attr.intrinsic) {
            sf_parser_unexpected_word(
                p,
                sf_str_eq(scope, SF_STR("profile"))
                    ? "frame, cpu, wall, lock, block, off_cpu or alloc behind profile."
                    : "an intrinsic of this scope, such as span:name or trace:duration",
                words, words_of(scope, words));
            return false;
        }
    } else if (p->token.kind == SF_TOKEN_WORD) {
        if (sf_parser_is_word(p, "parent")) {
            sf_parser_fail(p, SF_ERR_INPUT, p->token.place, "parent not yet supported");
            return false;
        }
        attr.intrinsic = find_intrinsic(SF_STR_NONE, p->token.text);
    }
    if (attr.scope == SF_SCOPE_INTRINSIC && !attr.intrinsic) {
        sf_parser_unexpected_word(
            p, "an attribute such as span.http.route or an intrinsic such as duration", words,
            words_of(SF_STR_NONE, words));
        return false;
    }
    sf_parser_next(p);
    *out = attr;
    return !p->err;
}

struct word_literal {
    const char *word;
    enum sf_static_type type;
    int64_t value;
};

static const struct word_literal word_literals[] = {
    {"true", SF_TYPE_BOOL, 1},
    {"false", SF_TYPE_BOOL, 0},
    {"nil", SF_TYPE_NIL, 0},
    {"unset", SF_TYPE_STATUS, SF_STATUS_UNSET},
    {"ok", SF_TYPE_STATUS, SF_STATUS_OK},
    {"error", SF_TYPE_STATUS, SF_STATUS_ERROR},
    {"unspecified", SF_TYPE_KIND, SF_KIND_UNSPECIFIED},
    {"internal", SF_TYPE_KIND, SF_KIND_INTERNAL},
    {"server", SF_TYPE_KIND, SF_KIND_SERVER},
    {"client", SF_TYPE_KIND, SF_KIND_CLIENT},
    {"producer", SF_TYPE_KIND, SF_KIND_PRODUCER},
    {"consumer", SF_TYPE_KIND, SF_KIND_CONSUMER},
    {"minInt", SF_TYPE_INT, INT64_MIN},
    {"maxInt", SF_TYPE_INT, INT64_MAX},
};

static bool literal_in_hand(const struct sf_parser *p, struct sf_static *out)
{
    const struct sf_token *t = &p->token;
    switch (t->kind) {
    case SF_TOKEN_STRING: *out = (struct sf_static){SF_TYPE_STRING, {.str = t->str}}; return true;
    case SF_TOKEN_INT: *out = (struct sf_static){SF_TYPE_INT, {.i64 = t->i64}}; return true;
    case SF_TOKEN_FLOAT: *out = (struct sf_static){SF_TYPE_FLOAT, {.f64 = t->f64}}; return true;
    case SF_TOKEN_DURATION:
        *out = (struct sf_static){SF_TYPE_DURATION, {.i64 = t->i64}};
        return true;
    case SF_TOKEN_WORD: break;
    default: return false;
    }
    for (size_t i = 0; i < sizeof(word_literals) / sizeof(word_literals[0]); i++) {
        const struct word_literal *w = &word_literals[i];
        if (!sf_parser_is_word(p, w->word))
            continue;
        out->type = w->type;
        if (w->type == SF_TYPE_BOOL)
            out->is_true = w->value != 0;
        else
            out->i64 = w->value;
        return true;
    }
    return false;
}

bool sf_expr_parse_plain_literal(struct sf_parser *p, struct sf_static *out)
{
    struct sf_static lit = {0};
    if (!literal_in_hand(p, &lit)) {
        sf_parser_unexpected(p, "a value");
        return false;
    }
    sf_parser_next(p);
    *out = lit;
    return !p->err;
}

bool sf_expr_parse_literal(struct sf_parser *p, struct sf_static *out)
{
    bool is_negative = sf_parser_take_sign(p, "-");
    struct sf_static lit = {0};
    if (!literal_in_hand(p, &lit) || (is_negative && !sf_expr_check_type_is_number(lit.type))) {
        sf_parser_unexpected(p, is_negative ? "a number" : "a value");
        return false;
    }
    sf_parser_next(p);
    *out = is_negative ? sf_expr_fold_unary(SF_EXPR_NEG, lit) : lit;
    return !p->err;
}

static struct sf_expr *new_expr(struct sf_parser *p, enum sf_expr_kind kind, struct sf_place place)
{
    struct sf_expr *e = sf_parser_new(p, sizeof(*e));
    if (!e)
        return NULL;
    e->kind = kind;
    e->place = place;
    e->number = p->n_exprs++;
    e->height = 1;
    return e;
}

static enum sf_static_type type_of_attr(const struct sf_query_attr *a)
{
    switch (a->intrinsic) {
    case SF_INTRINSIC_NONE:
    case SF_INTRINSIC_SCOPE_NAME: /* comparing them with a number never matches */
    case SF_INTRINSIC_SCOPE_VERSION: return SF_TYPE_UNKNOWN;
    case SF_INTRINSIC_DURATION:
    case SF_INTRINSIC_TRACE_DURATION:
    case SF_INTRINSIC_EVENT_TIME:
    case SF_INTRINSIC_PROFILE_CPU:
    case SF_INTRINSIC_PROFILE_WALL:
    case SF_INTRINSIC_PROFILE_LOCK:
    case SF_INTRINSIC_PROFILE_BLOCK:
    case SF_INTRINSIC_PROFILE_OFF_CPU: return SF_TYPE_DURATION;
    case SF_INTRINSIC_STATUS: return SF_TYPE_STATUS;
    case SF_INTRINSIC_KIND: return SF_TYPE_KIND;
    case SF_INTRINSIC_CHILD_COUNT:
    case SF_INTRINSIC_PROFILE_ALLOC:
    case SF_INTRINSIC_NESTED_LEFT:
    case SF_INTRINSIC_NESTED_RIGHT:
    case SF_INTRINSIC_NESTED_PARENT: return SF_TYPE_INT;
    default: return SF_TYPE_STRING;
    }
}

static enum sf_static_type type_of_binary(const struct sf_expr *e)
{
    if (e->op <= SF_EXPR_OR)
        return SF_TYPE_BOOL;
    /* The side whose type is known determines it. */
    if (e->left->type == SF_TYPE_UNKNOWN || e->right->type == SF_TYPE_UNKNOWN)
        return e->left->type == SF_TYPE_UNKNOWN ? e->right->type : e->left->type;
    return sf_expr_fold_binary_type(e->op, e->left->type, e->right->type);
}

static const struct sf_expr *parse_level(struct sf_parser *p, unsigned least);

static const struct sf_expr *make_unary(struct sf_parser *p, enum sf_expr_op op,
                                        struct sf_place place, const struct sf_expr *operand)
{
    struct sf_expr *e;
    if (!operand)
        return NULL;
    e = new_expr(p, SF_EXPR_UNARY, place);
    if (!e)
        return NULL;
    if (!sf_parser_stack(p, place, operand->height, 0, &e->height))
        return NULL;
    e->op = op;
    e->left = operand;
    e->type = operand->type;
    if (!sf_expr_check(p, e))
        return NULL;
    if (operand->kind == SF_EXPR_LITERAL) {
        e->kind = SF_EXPR_LITERAL;
        e->literal = sf_expr_fold_unary(op, operand->literal);
        e->type = e->literal.type;
    }
    return e;
}

static void unexpected_operand(struct sf_parser *p)
{
    enum { N_WORDS = sizeof(word_literals) / sizeof(word_literals[0]) };
    const char *words[sizeof(names) / sizeof(names[0]) + N_WORDS];
    size_t n = words_of(SF_STR_NONE, words);
    for (size_t i = 0; i < N_WORDS; i++)
        words[n++] = word_literals[i].word;
    if (p->token.kind == SF_TOKEN_WORD &&
        sf_str_starts(sf_str_from_at(p->lexer.text, p->lexer.at), SF_STR("(")))
        sf_parser_unexpected(p, "a value or an attribute: functions are stages of their own");
    else
        sf_parser_unexpected_word(p, "a value or an attribute such as span.http.route or duration",
                                  words, n);
}

static bool expr_parse_is_nil(const struct sf_expr *e)
{
    return e->kind == SF_EXPR_LITERAL && e->literal.type == SF_TYPE_NIL;
}

static const struct sf_expr *make_binary(struct sf_parser *p, const struct binary *b,
                                         const struct sf_expr *left, const struct sf_expr *right);

/* Parses the operand of "!". nil is always part of a comparison: !nil = .a is !(nil = .a). */
static const struct sf_expr *parse_denied(struct sf_parser *p)
{
    const struct sf_expr *operand = parse_level(p, 6), *right;
    const struct binary *b = operand && expr_parse_is_nil(operand) ? binary_in_hand(p) : NULL;
    if (!b || (b->op != SF_EXPR_EQ && b->op != SF_EXPR_NE))
        return operand;
    sf_parser_next(p);
    right = parse_level(p, b->level + 1);
    return right ? make_binary(p, b, operand, right) : NULL;
}

static const struct sf_expr *expr_parse_primary(struct sf_parser *p)
{
    struct sf_place place = p->token.place;
    struct sf_static lit = {0};
    struct sf_query_attr attr;
    struct sf_expr *e;

    if (sf_parser_take_sign(p, "-"))
        return make_unary(p, SF_EXPR_NEG, place, parse_level(p, 5));
    if (sf_parser_take_sign(p, "!"))
        return make_unary(p, SF_EXPR_NOT, place, parse_denied(p));
    if (sf_parser_take_sign(p, "(")) {
        const struct sf_expr *inner = parse_level(p, 2);
        if (inner && expr_parse_is_nil(inner)) {
            sf_parser_unexpected(p, "= or !=: nil stands without parentheses");
            return NULL;
        }
        return inner && sf_parser_need_sign(p, ")") ? inner : NULL;
    }
    if (literal_in_hand(p, &lit)) {
        e = new_expr(p, SF_EXPR_LITERAL, place);
        if (!e)
            return NULL;
        e->literal = lit;
        e->type = lit.type;
        sf_parser_next(p);
        return e;
    }
    if (!sf_expr_parse_is_attr(p) && !sf_parser_is_word(p, "parent")) {
        unexpected_operand(p);
        return NULL;
    }
    if (!sf_expr_parse_attr(p, &attr))
        return NULL;
    e = new_expr(p, SF_EXPR_ATTR, place);
    if (!e)
        return NULL;
    e->attr = attr;
    e->type = type_of_attr(&attr);
    return e;
}

/* The value of an operation on two literals. nil with nil is false for both operators; any other
 * literal is not nil. */
static struct sf_static expr_parse_fold(enum sf_expr_op op, const struct sf_expr *left,
                                        const struct sf_expr *right)
{
    if (expr_parse_is_nil(left) || expr_parse_is_nil(right))
        return (struct sf_static){
            SF_TYPE_BOOL,
            {.is_true = expr_parse_is_nil(left) != expr_parse_is_nil(right) && op == SF_EXPR_NE}};
    return sf_expr_fold_binary(op, left->literal, right->literal);
}

static const struct sf_expr *make_binary(struct sf_parser *p, const struct binary *b,
                                         const struct sf_expr *left, const struct sf_expr *right)
{
    struct sf_expr *e = left && right ? new_expr(p, SF_EXPR_BINARY, left->place) : NULL;
    if (!e || !sf_parser_stack(p, left->place, left->height, right->height, &e->height))
        return NULL;
    e->op = b->op;
    e->left = left;
    e->right = right;
    if (!sf_expr_check(p, e))
        return NULL;
    e->type = type_of_binary(e);
    if (left->kind == SF_EXPR_LITERAL && right->kind == SF_EXPR_LITERAL && b->op != SF_EXPR_MATCH &&
        b->op != SF_EXPR_NO_MATCH) {
        struct sf_static folded = expr_parse_fold(b->op, left, right);
        /* 1 / 0 has no value; it is not replaced by nil. */
        if (folded.type != SF_TYPE_NIL) {
            e->kind = SF_EXPR_LITERAL;
            e->literal = folded;
            e->type = folded.type;
        }
    }
    return e;
}

/* A sequence of only && or only ||, which are associative: dashboards write thousands of them.
 * Grouped from left to right, the tree would be as high as the sequence is long. So parts of equal
 * size are joined as in a binary counter: parts[i] has PART << rank operands. Short sequences are
 * one part, grouped from left to right. */
enum { PART = 64, MAX_PARTS = 32 };

struct run {
    const struct binary *b; /* NULL: no run */
    const struct sf_expr *parts[MAX_PARTS];
    unsigned ranks[MAX_PARTS];
    size_t n_parts, n_last; /* operands of the current part */
};

/* Stores the current part and begins the next one with `right`. */
static const struct sf_expr *expr_parse_next_part(struct sf_parser *p, struct run *r,
                                                  const struct sf_expr *left,
                                                  const struct sf_expr *right)
{
    unsigned rank = 0;
    for (; r->n_parts && r->ranks[r->n_parts - 1] == rank; rank++)
        left = make_binary(p, r->b, r->parts[--r->n_parts], left);
    SF_ASSERT(r->n_parts < MAX_PARTS); /* the text is too short for 2^32 operands */
    r->ranks[r->n_parts] = rank;
    r->parts[r->n_parts++] = left;
    r->n_last = 1;
    return left ? right : NULL;
}

static const struct sf_expr *expr_parse_end_run(struct sf_parser *p, struct run *r,
                                                const struct sf_expr *left)
{
    while (r->n_parts)
        left = make_binary(p, r->b, r->parts[--r->n_parts], left);
    r->b = NULL;
    return left;
}

static const struct sf_expr *expr_parse_join(struct sf_parser *p, struct run *r,
                                             const struct binary *b, const struct sf_expr *left,
                                             const struct sf_expr *right)
{
    if (r->b != b) {
        left = expr_parse_end_run(p, r, left);
        r->n_last = 1;
        r->b = b->op == SF_EXPR_AND || b->op == SF_EXPR_OR ? b : NULL;
    }
    if (r->b && r->n_last == PART)
        return expr_parse_next_part(p, r, left, right);
    r->n_last++;
    return make_binary(p, b, left, right);
}

static const struct sf_expr *parse_level(struct sf_parser *p, unsigned least)
{
    const struct sf_expr *left;
    struct run run = {0};
    if (!sf_parser_enter(p))
        return NULL;
    left = expr_parse_primary(p);
    while (left && !p->err) {
        const struct binary *b = binary_in_hand(p);
        const struct sf_expr *right;
        if (!b || b->level < least)
            break;
        sf_parser_next(p);
        right = parse_level(p, b->op == SF_EXPR_POW ? b->level : b->level + 1);
        left = right ? expr_parse_join(p, &run, b, left, right) : NULL;
    }
    left = left ? expr_parse_end_run(p, &run, left) : NULL;
    sf_parser_leave(p);
    return p->err ? NULL : left;
}

const struct sf_expr *sf_expr_parse(struct sf_parser *p)
{
    return parse_level(p, 2);
}
