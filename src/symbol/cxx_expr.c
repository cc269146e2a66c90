/* cxx_expr.c - expressions of the Itanium C++ ABI, as used in template arguments, and names of
 * operators. One table has the two letters of every operator, its number of operands, and how it is
 * written; other expressions (casts, new, folds, calls) have their own functions. */
#include "symbol/cxx_tree.h"

#include <string.h>

/* Unsorted: a name contains few operators. */
const struct sf_cxx_op sf_cxx_ops[] = {
    {"nw", 3, "new"},       {"na", 3, "new[]"},    {"dl", 1, "delete"},   {"da", 1, "delete[]"},
    {"aw", 1, "co_await "}, {"ps", 1, "+"},        {"ng", 1, "-"},        {"ad", 1, "&"},
    {"de", 1, "*"},         {"co", 1, "~"},        {"pl", 2, "+"},        {"mi", 2, "-"},
    {"ml", 2, "*"},         {"dv", 2, "/"},        {"rm", 2, "%"},        {"an", 2, "&"},
    {"or", 2, "|"},         {"eo", 2, "^"},        {"aS", 2, "="},        {"pL", 2, "+="},
    {"mI", 2, "-="},        {"mL", 2, "*="},       {"dV", 2, "/="},       {"rM", 2, "%="},
    {"aN", 2, "&="},        {"oR", 2, "|="},       {"eO", 2, "^="},       {"ls", 2, "<<"},
    {"rs", 2, ">>"},        {"lS", 2, "<<="},      {"rS", 2, ">>="},      {"eq", 2, "=="},
    {"ne", 2, "!="},        {"lt", 2, "<"},        {"gt", 2, ">"},        {"le", 2, "<="},
    {"ge", 2, ">="},        {"ss", 2, "<=>"},      {"nt", 1, "!"},        {"aa", 2, "&&"},
    {"oo", 2, "||"},        {"pp", 1, "++"},       {"mm", 1, "--"},       {"cm", 2, ","},
    {"pm", 2, "->*"},       {"pt", 2, "->"},       {"cl", 2, "()"},       {"ix", 2, "[]"},
    {"qu", 3, "?"},         {"dt", 2, "."},        {"ds", 2, ".*"},       {"st", 1, "sizeof "},
    {"sz", 1, "sizeof "},   {"at", 1, "alignof "}, {"az", 1, "alignof "}, {"nx", 1, "noexcept"},
    {"te", 1, "typeid "},   {"ti", 1, "typeid "},  {"tw", 1, "throw "},
};
static const unsigned cxx_n_ops = sizeof(sf_cxx_ops) / sizeof(sf_cxx_ops[0]);

static bool find_op(struct sf_cxx *x, uint16_t *op)
{
    for (unsigned i = 0; i < cxx_n_ops; i++) {
        if (sf_cxx_read_eat2(x, sf_cxx_ops[i].code)) {
            *op = (uint16_t)i;
            return true;
        }
    }
    return false;
}

static uint16_t read_conversion(struct sf_cxx *x)
{
    bool was_forward = x->is_forward;
    uint16_t n;
    x->is_forward = true;
    n = sf_cxx_read_node(x, SF_CXX_CONVERT, sf_cxx_type(x), 0);
    x->is_forward = was_forward;
    return n;
}

uint16_t sf_cxx_expr_operator(struct sf_cxx *x)
{
    uint16_t op, n;
    if (sf_cxx_read_eat2(x, "cv"))
        return read_conversion(x);
    if (sf_cxx_read_eat2(x, "li")) {
        n = sf_cxx_read_source_name(x);
        x->nodes[n].kind = SF_CXX_LITERAL_OP;
        return n;
    }
    if (!find_op(x, &op))
        return sf_cxx_read_fault(x);
    return sf_cxx_read_text(x, SF_CXX_OPERATOR, sf_cxx_ops[op].text, strlen(sf_cxx_ops[op].text));
}

/* A constant: L type digits E, or a function or object. */
uint16_t sf_cxx_expr_literal(struct sf_cxx *x)
{
    uint16_t type, n;
    const char *from;
    bool is_minus;
    if (!sf_cxx_eat(x, 'L'))
        return sf_cxx_read_fault(x);
    if (sf_cxx_read_eat2(x, "_Z") || sf_cxx_eat(x, 'Z')) {
        uint16_t saved[SF_CXX_ARGS], n_saved = x->n_args;
        memcpy(saved, x->args, n_saved * sizeof(saved[0]));
        n = sf_cxx_read_encoding(x, true);
        memcpy(x->args, saved, n_saved * sizeof(saved[0]));
        x->n_args = n_saved;
        return sf_cxx_eat(x, 'E') ? n : sf_cxx_read_fault(x);
    }
    type = sf_cxx_type(x);
    is_minus = sf_cxx_eat(x, 'n');
    from = x->at;
    while (x->at < x->end && *x->at != 'E')
        x->at++;
    n = sf_cxx_read_text(x, SF_CXX_LITERAL, from, (size_t)(x->at - from));
    x->nodes[n].a = type;
    x->nodes[n].flags = is_minus ? SF_CXX_MINUS : 0;
    return sf_cxx_eat(x, 'E') ? n : sf_cxx_read_fault(x);
}

static uint16_t cxx_read_exprs(struct sf_cxx *x, char end)
{
    uint16_t list = 0, tail = 0;
    while (!sf_cxx_eat(x, end) && !x->has_failed)
        sf_cxx_read_append(x, &list, &tail, sf_cxx_expr(x));
    return list;
}

/* fpT, fp_, fp0_, fL<level>p<number>_: a parameter of the function whose signature is being
 * read. */
static uint16_t read_function_param(struct sf_cxx *x)
{
    uint32_t number = 0, ignored;
    uint16_t n;
    bool is_outer = sf_cxx_peek2(x) == 'L';
    x->at += 2;
    if (!is_outer && sf_cxx_eat(x, 'T'))
        return sf_cxx_read_text(x, SF_CXX_NAME, "this", 4);
    if (is_outer && (!sf_cxx_read_number(x, &ignored) || !sf_cxx_eat(x, 'p')))
        return sf_cxx_read_fault(x);
    sf_cxx_type_cv(x);
    if (sf_cxx_eat(x, '_'))
        number = 1;
    else if (sf_cxx_read_number(x, &number) && sf_cxx_eat(x, '_'))
        number += 2;
    else
        return sf_cxx_read_fault(x);
    n = sf_cxx_read_node(x, SF_CXX_PARAM, 0, 0);
    x->nodes[n].number = number;
    return n;
}

static uint16_t read_with_args(struct sf_cxx *x, uint16_t n)
{
    if (sf_cxx_peek(x) == 'I')
        n = sf_cxx_read_node(x, SF_CXX_TEMPLATE, n, sf_cxx_read_template_args(x, false));
    return n;
}

/* A name in `scope`, which may be none. */
static uint16_t read_base_name(struct sf_cxx *x, uint16_t scope)
{
    bool is_dtor = sf_cxx_read_eat2(x, "dn"),
         is_plain = sf_cxx_peek(x) >= '0' && sf_cxx_peek(x) <= '9';
    uint16_t n;
    if (is_dtor)
        n = sf_cxx_read_node(x, SF_CXX_DTOR, is_plain ? sf_cxx_read_source_name(x) : sf_cxx_type(x),
                             0);
    else if (sf_cxx_read_eat2(x, "on"))
        n = sf_cxx_expr_operator(x);
    else
        n = sf_cxx_read_unqualified(x, 0);
    if (scope)
        n = sf_cxx_read_node(x, SF_CXX_WITHIN, scope, n);
    return is_dtor ? n : read_with_args(x, n);
}

static bool is_base_name(const struct sf_cxx *x, size_t ahead)
{
    const char *p = x->at + ahead;
    size_t left = (size_t)(x->end - x->at);
    if (left <= ahead)
        return false;
    return (*p >= '0' && *p <= '9') ||
           (left > ahead + 1 && (*p == 'o' || *p == 'd') && p[1] == 'n');
}

/* sr <name>+ E <name>; returns 0 and restores the position for the older form, sr <type> <name>. */
static uint16_t cxx_expr_read_levels(struct sf_cxx *x)
{
    const char *from = x->at;
    uint16_t n_subs = x->n_subs, n = 0;
    while (sf_cxx_peek(x) >= '0' && sf_cxx_peek(x) <= '9' && !x->has_failed) {
        n = read_base_name(x, n);
    }
    if (x->has_failed)
        return 0;
    if (sf_cxx_peek(x) == 'E' && is_base_name(x, 1)) {
        x->at++;
        return read_base_name(x, n);
    }
    x->at = from;
    x->n_subs = n_subs;
    return 0;
}

/* A name looked up in a type: sr <type> <name>, srN <type> <name>+ E <name>, sr <name>+ E <name>.
 */
static uint16_t read_scoped(struct sf_cxx *x)
{
    bool is_long = sf_cxx_eat(x, 'N');
    uint16_t n = is_long ? 0 : cxx_expr_read_levels(x);
    if (n)
        return n;
    n = read_with_args(x, sf_cxx_type(x));
    while (is_long && !sf_cxx_eat(x, 'E') && !x->has_failed)
        n = read_base_name(x, n);
    return read_base_name(x, n);
}

static uint16_t read_cast(struct sf_cxx *x)
{
    uint16_t type = sf_cxx_type(x), n;
    if (!sf_cxx_eat(x, '_'))
        return sf_cxx_read_node(x, SF_CXX_CAST, type, sf_cxx_expr(x));
    n = sf_cxx_read_node(x, SF_CXX_CAST, type, cxx_read_exprs(x, 'E'));
    x->nodes[n].flags = SF_CXX_IS_LIST;
    return n;
}

static uint16_t read_named_cast(struct sf_cxx *x, const char *text)
{
    uint16_t type = sf_cxx_type(x), of = sf_cxx_expr(x);
    uint16_t n = sf_cxx_read_text(x, SF_CXX_NAMED_CAST, text, strlen(text));
    x->nodes[n].a = type;
    x->nodes[n].b = of;
    return n;
}

static uint16_t read_fold(struct sf_cxx *x)
{
    uint16_t n = sf_cxx_read_text(x, SF_CXX_FOLD, x->at + 1, 1), op, a, b = 0;
    bool has_two = sf_cxx_peek2(x) == 'L' || sf_cxx_peek2(x) == 'R';
    x->at += 2;
    if (!find_op(x, &op))
        return sf_cxx_read_fault(x);
    a = sf_cxx_expr(x);
    if (has_two)
        b = sf_cxx_expr(x);
    x->nodes[n].op = op;
    x->nodes[n].a = a;
    x->nodes[n].b = b;
    return n;
}

static uint16_t read_new(struct sf_cxx *x)
{
    uint16_t n, type;
    cxx_read_exprs(x, '_'); /* placement */
    type = sf_cxx_type(x);
    n = sf_cxx_read_node(x, SF_CXX_NEW, type, 0);
    if (sf_cxx_read_eat2(x, "pi"))
        x->nodes[n].b = cxx_read_exprs(x, 'E');
    else if (!sf_cxx_eat(x, 'E'))
        return sf_cxx_read_fault(x);
    return n;
}

static uint16_t read_unary(struct sf_cxx *x, uint16_t op)
{
    uint16_t n = sf_cxx_read_node(x, SF_CXX_UNARY, 0, 0), of;
    const char *code = sf_cxx_ops[op].code;
    bool is_step = !strcmp(code, "pp") || !strcmp(code, "mm");
    if (is_step && !sf_cxx_eat(x, '_'))
        x->nodes[n].flags = SF_CXX_SUFFIX;
    of = !strcmp(code, "st") || !strcmp(code, "at") || !strcmp(code, "ti") ? sf_cxx_type(x)
                                                                           : sf_cxx_expr(x);
    x->nodes[n].a = of;
    x->nodes[n].op = op;
    return n;
}

static uint16_t read_operation(struct sf_cxx *x)
{
    uint16_t op, a, b, n;
    if (sf_cxx_read_eat2(x, "cl")) {
        a = sf_cxx_expr(x);
        return sf_cxx_read_node(x, SF_CXX_CALL, a, cxx_read_exprs(x, 'E'));
    }
    if (sf_cxx_read_eat2(x, "nw") || sf_cxx_read_eat2(x, "na"))
        return read_new(x);
    if (!find_op(x, &op))
        return sf_cxx_read_fault(x);
    if (sf_cxx_ops[op].n == 1)
        return read_unary(x, op);
    a = sf_cxx_expr(x);
    if (!strcmp(sf_cxx_ops[op].code, "dt") || !strcmp(sf_cxx_ops[op].code, "pt"))
        b = sf_cxx_peek(x) == 's' && sf_cxx_peek2(x) == 'r' ? sf_cxx_expr(x) : read_base_name(x, 0);
    else
        b = sf_cxx_expr(x);
    n = sf_cxx_read_node(x, sf_cxx_ops[op].n == 3 ? SF_CXX_TERNARY : SF_CXX_BINARY, a, b);
    x->nodes[n].op = op;
    if (sf_cxx_ops[op].n == 3) {
        uint16_t c = sf_cxx_expr(x);
        x->nodes[n].c = c;
    }
    return n;
}

static uint16_t read_pack_size(struct sf_cxx *x)
{
    uint16_t list = 0, tail = 0, of;
    if (sf_cxx_read_eat2(x, "sZ")) {
        of = sf_cxx_peek(x) == 'f' ? read_function_param(x) : sf_cxx_read_template_param(x);
        return sf_cxx_read_node(x, SF_CXX_SIZEOF_PACK, of, 0);
    }
    x->at += 2; /* sP */
    while (!sf_cxx_eat(x, 'E') && !x->has_failed)
        sf_cxx_read_append(x, &list, &tail, sf_cxx_read_template_arg(x));
    return sf_cxx_read_node(x, SF_CXX_SIZEOF_PACK, sf_cxx_read_node(x, SF_CXX_PACK, list, 0), 0);
}

static uint16_t cxx_expr_read_any(struct sf_cxx *x)
{
    char c = sf_cxx_peek(x), next = sf_cxx_peek2(x);
    if (c == 'L')
        return sf_cxx_expr_literal(x);
    if (c == 'T')
        return sf_cxx_read_template_param(x);
    if (c == 's' && (next == 'Z' || next == 'P'))
        return read_pack_size(x);
    if (sf_cxx_read_eat2(x, "sr"))
        return read_scoped(x);
    if (sf_cxx_read_eat2(x, "sp"))
        return sf_cxx_read_node(x, SF_CXX_EXPAND, sf_cxx_expr(x), 0);
    if (c == 'f' &&
        (next == 'p' || (next == 'L' && x->end - x->at > 2 && x->at[2] >= '0' && x->at[2] <= '9')))
        return read_function_param(x);
    if (c == 'f' && (next == 'l' || next == 'r' || next == 'L' || next == 'R'))
        return read_fold(x);
    if (c >= '0' && c <= '9')
        return read_base_name(x, 0);
    if (sf_cxx_read_eat2(x, "on"))
        return read_with_args(x, sf_cxx_expr_operator(x));
    if (sf_cxx_read_eat2(x, "gs"))
        return sf_cxx_read_node(x, SF_CXX_GLOBAL, sf_cxx_expr(x), 0);
    if (sf_cxx_read_eat2(x, "cv"))
        return read_cast(x);
    if (sf_cxx_read_eat2(x, "tl")) {
        uint16_t type = sf_cxx_type(x);
        return sf_cxx_read_node(x, SF_CXX_BRACES, type, cxx_read_exprs(x, 'E'));
    }
    if (sf_cxx_read_eat2(x, "il"))
        return sf_cxx_read_node(x, SF_CXX_BRACES, 0, cxx_read_exprs(x, 'E'));
    if (sf_cxx_read_eat2(x, "sc"))
        return read_named_cast(x, "static_cast");
    if (sf_cxx_read_eat2(x, "dc"))
        return read_named_cast(x, "dynamic_cast");
    if (sf_cxx_read_eat2(x, "cc"))
        return read_named_cast(x, "const_cast");
    if (sf_cxx_read_eat2(x, "rc"))
        return read_named_cast(x, "reinterpret_cast");
    if (sf_cxx_read_eat2(x, "tr"))
        return sf_cxx_read_text(x, SF_CXX_NAME, "throw", 5);
    return read_operation(x);
}

uint16_t sf_cxx_expr(struct sf_cxx *x)
{
    uint16_t n = 0;
    if (sf_cxx_read_enter(x))
        n = cxx_expr_read_any(x);
    sf_cxx_read_leave(x);
    return n;
}
