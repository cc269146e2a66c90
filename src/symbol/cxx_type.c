/* Types of the Itanium C++ ABI. */
#include "symbol/cxx_tree.h"

#include <string.h>

struct builtin {
    char letter;
    const char *text;
};

static const struct builtin builtins[] = {
    {'v', "void"},        {'w', "wchar_t"},
    {'b', "bool"},        {'c', "char"},
    {'a', "signed char"}, {'h', "unsigned char"},
    {'s', "short"},       {'t', "unsigned short"},
    {'i', "int"},         {'j', "unsigned int"},
    {'l', "long"},        {'m', "unsigned long"},
    {'x', "long long"},   {'y', "unsigned long long"},
    {'n', "__int128"},    {'o', "unsigned __int128"},
    {'f', "float"},       {'d', "double"},
    {'e', "long double"}, {'g', "__float128"},
    {'z', "..."},
};

static const struct builtin d_builtins[] = {
    {'a', "auto"},      {'c', "decltype(auto)"},
    {'d', "decimal64"}, {'e', "decimal128"},
    {'f', "decimal32"}, {'h', "half"},
    {'i', "char32_t"},  {'s', "char16_t"},
    {'u', "char8_t"},   {'n', "decltype(nullptr)"},
};

static uint16_t find_builtin(struct sf_cxx *x, const struct builtin *list, size_t n, char letter)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i].letter == letter) {
            uint16_t node = sf_cxx_read_text(x, SF_CXX_BUILTIN, list[i].text, strlen(list[i].text));
            x->nodes[node].number = (uint8_t)letter;
            return node;
        }
    }
    return 0;
}

uint8_t sf_cxx_type_cv(struct sf_cxx *x)
{
    uint8_t flags = 0;
    if (sf_cxx_eat(x, 'r'))
        flags |= SF_CXX_RESTRICT;
    if (sf_cxx_eat(x, 'V'))
        flags |= SF_CXX_VOLATILE;
    if (sf_cxx_eat(x, 'K'))
        flags |= SF_CXX_CONST;
    return flags;
}

/* A single "void" means no parameters. */
uint16_t sf_cxx_type_params(struct sf_cxx *x, char end)
{
    uint16_t list = 0, tail = 0;
    char next;
    if (sf_cxx_peek(x) == 'v') {
        next = sf_cxx_peek2(x);
        if (end ? next == end : !next || next == 'E' || next == '.') {
            x->at += end ? 2 : 1;
            return 0;
        }
    }
    while (!x->has_failed) {
        next = sf_cxx_peek(x);
        if (end ? sf_cxx_eat(x, end) : !next || next == 'E' || next == '.')
            break;
        if (end && (next == 'R' || next == 'O') && sf_cxx_peek2(x) == end)
            break; /* the ref-qualifier & or && of a function */
        sf_cxx_read_append(x, &list, &tail, sf_cxx_type(x));
    }
    return list;
}

static uint16_t cxx_type_read_function(struct sf_cxx *x, uint8_t flags, uint16_t noexcept_of)
{
    uint16_t result, n;
    if (!sf_cxx_eat(x, 'F'))
        return sf_cxx_read_fault(x);
    sf_cxx_eat(x, 'Y'); /* extern "C" */
    result = sf_cxx_type(x);
    n = sf_cxx_read_node(x, SF_CXX_FUNC_TYPE, result, 0);
    x->nodes[n].b = sf_cxx_type_params(x, 'E');
    if (sf_cxx_read_eat2(x, "RE"))
        flags |= SF_CXX_ON_LREF;
    else if (sf_cxx_read_eat2(x, "OE"))
        flags |= SF_CXX_ON_RREF;
    x->nodes[n].flags = flags;
    x->nodes[n].c = noexcept_of;
    return n;
}

static uint16_t read_bounds(struct sf_cxx *x)
{
    const char *from = x->at;
    uint32_t ignored;
    if (sf_cxx_peek(x) == '_')
        return 0;
    if (sf_cxx_read_number(x, &ignored))
        return sf_cxx_read_text(x, SF_CXX_NAME, from, (size_t)(x->at - from));
    return sf_cxx_expr(x);
}

static uint16_t cxx_type_read_array(struct sf_cxx *x)
{
    uint16_t bounds = read_bounds(x);
    if (!sf_cxx_eat(x, '_'))
        return sf_cxx_read_fault(x);
    return sf_cxx_read_node(x, SF_CXX_ARRAY, sf_cxx_type(x), bounds);
}

static uint16_t read_vector(struct sf_cxx *x)
{
    uint16_t bounds;
    if (sf_cxx_eat(x, '_')) {
        bounds = sf_cxx_expr(x);
        if (!sf_cxx_eat(x, '_'))
            return sf_cxx_read_fault(x);
    } else {
        bounds = read_bounds(x);
        if (!sf_cxx_eat(x, '_'))
            return sf_cxx_read_fault(x);
    }
    return sf_cxx_read_node(x, SF_CXX_VECTOR, sf_cxx_type(x), bounds);
}

uint16_t sf_cxx_type_decltype(struct sf_cxx *x)
{
    uint16_t n;
    x->at += 2; /* Dt, DT */
    n = sf_cxx_read_node(x, SF_CXX_DECLTYPE, sf_cxx_expr(x), 0);
    return sf_cxx_eat(x, 'E') ? n : sf_cxx_read_fault(x);
}

static uint16_t read_float(struct sf_cxx *x)
{
    uint32_t bits;
    uint16_t n;
    if (!sf_cxx_read_number(x, &bits))
        return sf_cxx_read_fault(x);
    n = sf_cxx_read_text(x, SF_CXX_BUILTIN, sf_cxx_eat(x, 'b') ? "std::bfloat" : "_Float", 0);
    if (sf_cxx_eat(x, 'x'))
        x->nodes[n].flags = 1;
    else if (x->nodes[n].text[0] == '_' && !sf_cxx_eat(x, '_'))
        return sf_cxx_read_fault(x);
    x->nodes[n].number = bits;
    x->nodes[n].len = (uint32_t)strlen(x->nodes[n].text);
    x->nodes[n].op = 1; /* the width is part of the name */
    return n;
}

/* D and a letter: types added by C++11 and later. *is_plain: not added to the substitutions. */
static uint16_t read_d(struct sf_cxx *x, bool *is_plain)
{
    char next = sf_cxx_peek2(x);
    uint16_t n, condition = 0;
    uint8_t flags = SF_CXX_NOEXCEPT;
    if (next == 't' || next == 'T')
        return sf_cxx_type_decltype(x);
    x->at += 2;
    switch (next) {
    case 'p': return sf_cxx_read_node(x, SF_CXX_EXPAND, sf_cxx_type(x), 0);
    case 'v': return read_vector(x);
    case 'F': *is_plain = true; return read_float(x);
    case 'x': return cxx_type_read_function(x, SF_CXX_TRANSACTION, 0);
    case 'O':
        condition = sf_cxx_expr(x);
        if (!sf_cxx_eat(x, 'E'))
            return sf_cxx_read_fault(x);
        return cxx_type_read_function(x, flags, condition);
    case 'o': return cxx_type_read_function(x, flags, 0);
    default: break;
    }
    n = find_builtin(x, d_builtins, sizeof(d_builtins) / sizeof(d_builtins[0]), next);
    *is_plain = true;
    return n ? n : sf_cxx_read_fault(x);
}

static uint16_t read_vendor_qualifier(struct sf_cxx *x)
{
    uint16_t name = sf_cxx_read_source_name(x), args = 0, n;
    if (sf_cxx_peek(x) == 'I')
        args = sf_cxx_read_template_args(x, false);
    if (args)
        name = sf_cxx_read_node(x, SF_CXX_TEMPLATE, name, args);
    n = sf_cxx_read_node(x, SF_CXX_AFTER, sf_cxx_type(x), name);
    return n;
}

static uint16_t after(struct sf_cxx *x, const char *text)
{
    uint16_t of = sf_cxx_type(x);
    return sf_cxx_read_node(x, SF_CXX_AFTER, of,
                            sf_cxx_read_text(x, SF_CXX_NAME, text, strlen(text)));
}

static uint16_t read_qualified(struct sf_cxx *x)
{
    uint8_t flags = sf_cxx_type_cv(x);
    uint16_t of, n;
    if (sf_cxx_peek(x) == 'F') /* printed after its parameters, as one unit with them */
        return cxx_type_read_function(x, flags, 0);
    of = sf_cxx_type(x);
    n = sf_cxx_read_node(x, SF_CXX_QUALIFIED, of, 0);
    x->nodes[n].flags = flags;
    return n;
}

static uint16_t read_member(struct sf_cxx *x)
{
    uint16_t of = sf_cxx_type(x);
    return sf_cxx_read_node(x, SF_CXX_MEMBER, of, sf_cxx_type(x));
}

/* A template parameter, or a template template parameter with its arguments. */
static uint16_t read_parameter(struct sf_cxx *x)
{
    uint16_t n = sf_cxx_read_template_param(x);
    if (sf_cxx_peek(x) != 'I' || x->is_forward)
        return n;
    sf_cxx_read_remember(x, n);
    return sf_cxx_read_node(x, SF_CXX_TEMPLATE, n, sf_cxx_read_template_args(x, false));
}

static uint16_t cxx_type_read_known(struct sf_cxx *x, bool *is_plain)
{
    uint16_t n = sf_cxx_read_substitution(x);
    *is_plain = sf_cxx_peek(x) != 'I';
    return *is_plain ? n
                     : sf_cxx_read_node(x, SF_CXX_TEMPLATE, n, sf_cxx_read_template_args(x, false));
}

static uint16_t read_compound(struct sf_cxx *x, bool *is_plain)
{
    char c = sf_cxx_peek(x), next = sf_cxx_peek2(x);
    switch (c) {
    case 'r':
    case 'V':
    case 'K': return read_qualified(x);
    case 'F': return cxx_type_read_function(x, 0, 0);
    case 'D': return next == 'C' ? sf_cxx_read_fault(x) : read_d(x, is_plain);
    case 'S':
        return next == 't' ? sf_cxx_read_name(x, false, NULL) : cxx_type_read_known(x, is_plain);
    case 'T':
        if (next != 's' && next != 'u' && next != 'e')
            return read_parameter(x);
        x->at += 2; /* struct, union, enum: parsed, not printed */
        return sf_cxx_read_name(x, false, NULL);
    default: break;
    }
    if (c == 'N' || c == 'Z' || (c >= '0' && c <= '9'))
        return sf_cxx_read_name(x, false, NULL);
    x->at++;
    switch (c) {
    case 'P': return sf_cxx_read_node(x, SF_CXX_POINTER, sf_cxx_type(x), 0);
    case 'R': return sf_cxx_read_node(x, SF_CXX_LREF, sf_cxx_type(x), 0);
    case 'O': return sf_cxx_read_node(x, SF_CXX_RREF, sf_cxx_type(x), 0);
    case 'C': return after(x, "_Complex");
    case 'G': return after(x, "_Imaginary");
    case 'A': return cxx_type_read_array(x);
    case 'M': return read_member(x);
    case 'U': return read_vendor_qualifier(x);
    case 'u': return sf_cxx_read_source_name(x);
    default: return sf_cxx_read_fault(x);
    }
}

uint16_t sf_cxx_type(struct sf_cxx *x)
{
    bool is_plain = false;
    uint16_t n = 0;
    if (!sf_cxx_read_enter(x)) {
        sf_cxx_read_leave(x);
        return 0;
    }
    n = find_builtin(x, builtins, sizeof(builtins) / sizeof(builtins[0]), sf_cxx_peek(x));
    if (n) {
        x->at++;
    } else {
        n = read_compound(x, &is_plain);
        if (!is_plain)
            sf_cxx_read_remember(x, n);
    }
    sf_cxx_read_leave(x);
    return n;
}
