/* Names of the Itanium C++ ABI: encodings, nested and local names, template arguments, and the
 * numbers that refer back to parts already read. */
#include "symbol/cxx_tree.h"

#include <string.h>

/* ---- basic elements ---- */

bool sf_cxx_read_eat2(struct sf_cxx *x, const char *two)
{
    if (sf_cxx_peek(x) != two[0] || sf_cxx_peek2(x) != two[1])
        return false;
    x->at += 2;
    return true;
}

uint16_t sf_cxx_read_fault(struct sf_cxx *x)
{
    x->has_failed = true;
    x->at = x->end;
    return 0;
}

uint16_t sf_cxx_read_node(struct sf_cxx *x, enum sf_cxx_kind kind, uint16_t a, uint16_t b)
{
    struct sf_cxx_node *n;
    if (x->has_failed || x->n_nodes == SF_CXX_NODES)
        return sf_cxx_read_fault(x);
    n = &x->nodes[x->n_nodes];
    *n = (struct sf_cxx_node){.kind = (uint8_t)kind, .a = a, .b = b};
    return x->n_nodes++;
}

uint16_t sf_cxx_read_text(struct sf_cxx *x, enum sf_cxx_kind kind, const char *text, size_t len)
{
    uint16_t n = sf_cxx_read_node(x, kind, 0, 0);
    x->nodes[n].text = text;
    x->nodes[n].len = (uint32_t)len;
    return n;
}

uint16_t sf_cxx_read_append(struct sf_cxx *x, uint16_t *list, uint16_t *tail, uint16_t item)
{
    uint16_t n = sf_cxx_read_node(x, SF_CXX_LIST, item, 0);
    if (*tail)
        x->nodes[*tail].b = n;
    else
        *list = n;
    *tail = n;
    return n;
}

void sf_cxx_read_remember(struct sf_cxx *x, uint16_t node)
{
    if (x->n_subs == SF_CXX_SUBS)
        sf_cxx_read_fault(x);
    else
        x->subs[x->n_subs++] = node;
}

bool sf_cxx_read_enter(struct sf_cxx *x)
{
    if (++x->depth > SF_CXX_DEPTH)
        sf_cxx_read_fault(x);
    return !x->has_failed;
}

void sf_cxx_read_leave(struct sf_cxx *x)
{
    x->depth--;
}

bool sf_cxx_read_number(struct sf_cxx *x, uint32_t *out)
{
    uint32_t v = 0;
    if (sf_cxx_peek(x) < '0' || sf_cxx_peek(x) > '9')
        return false;
    while (sf_cxx_peek(x) >= '0' && sf_cxx_peek(x) <= '9') {
        if (v > 100000000)
            return false;
        v = v * 10 + (uint32_t)(*x->at++ - '0');
    }
    *out = v;
    return true;
}

/* "_" is 0, "0_" is 1; base 36. */
static bool cxx_sequence(struct sf_cxx *x, uint32_t *out)
{
    uint32_t v = 0;
    if (sf_cxx_eat(x, '_')) {
        *out = 0;
        return true;
    }
    while (!sf_cxx_eat(x, '_')) {
        char c = sf_cxx_peek(x);
        uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0') : (uint32_t)(c - 'A' + 10);
        if (digit > 35 || v > 1000000)
            return false;
        v = v * 36 + digit;
        x->at++;
    }
    *out = v + 1;
    return true;
}

/* ---- names ---- */

uint16_t sf_cxx_read_source_name(struct sf_cxx *x)
{
    static const char anonymous[] = "_GLOBAL_";
    uint32_t len;
    const char *text;
    if (!sf_cxx_read_number(x, &len) || !len || len > (size_t)(x->end - x->at))
        return sf_cxx_read_fault(x);
    text = x->at;
    x->at += len;
    if (len >= 10 && !memcmp(text, anonymous, 8) && strchr("._$", text[8]) && text[9] == 'N')
        return sf_cxx_read_text(x, SF_CXX_NAME, "(anonymous namespace)", 21);
    return sf_cxx_read_text(x, SF_CXX_NAME, text, len);
}

/* "_" is the first, "0_" the second. */
static bool read_discriminated(struct sf_cxx *x, uint32_t *number)
{
    uint32_t v;
    if (sf_cxx_eat(x, '_')) {
        *number = 1;
        return true;
    }
    if (!sf_cxx_read_number(x, &v) || !sf_cxx_eat(x, '_'))
        return false;
    *number = v + 2;
    return true;
}

static uint16_t read_lambda(struct sf_cxx *x)
{
    uint16_t params, n;
    uint32_t number;
    x->n_lambda++;
    params = sf_cxx_type_params(x, 'E');
    x->n_lambda--;
    if (!read_discriminated(x, &number))
        return sf_cxx_read_fault(x);
    n = sf_cxx_read_node(x, SF_CXX_LAMBDA, params, 0);
    x->nodes[n].number = number;
    return n;
}

static uint16_t read_unnamed(struct sf_cxx *x)
{
    uint32_t number;
    uint16_t n;
    if (!read_discriminated(x, &number))
        return sf_cxx_read_fault(x);
    n = sf_cxx_read_node(x, SF_CXX_UNNAMED, 0, 0);
    x->nodes[n].number = number;
    sf_cxx_read_remember(x, n);
    return n;
}

/* The class name for a constructor: the last name of its scope, without arguments. */
static uint16_t cxx_read_last_name(const struct sf_cxx *x, uint16_t n)
{
    for (int i = 0; i < SF_CXX_DEPTH; i++) {
        const struct sf_cxx_node *node = &x->nodes[n];
        if (node->kind == SF_CXX_TEMPLATE || node->kind == SF_CXX_TAG)
            n = node->a;
        else if (node->kind == SF_CXX_WITHIN)
            n = node->b;
        else
            break;
    }
    return n;
}

/* Abbreviations of the standard library: full text, and the class name for its constructors. */
static const struct known {
    char letter;
    const char *text, *whole, *class_text;
} knowns[] = {
    {'a', "std::allocator", "std::allocator", "allocator"},
    {'b', "std::basic_string", "std::basic_string", "basic_string"},
    {'s', "std::string", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
     "basic_string"},
    {'i', "std::istream", "std::basic_istream<char, std::char_traits<char> >", "basic_istream"},
    {'o', "std::ostream", "std::basic_ostream<char, std::char_traits<char> >", "basic_ostream"},
    {'d', "std::iostream", "std::basic_iostream<char, std::char_traits<char> >", "basic_iostream"},
};

static uint16_t class_name(struct sf_cxx *x, uint16_t scope)
{
    uint16_t n = cxx_read_last_name(x, scope);
    for (unsigned i = 0; i < sizeof(knowns) / sizeof(knowns[0]); i++) {
        const struct known *k = &knowns[i];
        if (x->nodes[n].text == k->text || x->nodes[n].text == k->whole)
            return sf_cxx_read_text(x, SF_CXX_NAME, k->class_text, strlen(k->class_text));
    }
    return n;
}

static uint16_t read_ctor(struct sf_cxx *x, uint16_t scope)
{
    bool is_ctor = sf_cxx_peek(x) == 'C', is_inherited;
    uint16_t name = scope ? class_name(x, scope) : 0;
    x->at++;
    is_inherited = is_ctor && sf_cxx_eat(x, 'I');
    if (!name || sf_cxx_peek(x) < '0' || sf_cxx_peek(x) > '5')
        return sf_cxx_read_fault(x);
    x->at++;
    if (is_inherited)
        sf_cxx_read_name(x, false, NULL); /* the base it came from; not printed */
    return sf_cxx_read_node(x, is_ctor ? SF_CXX_CTOR : SF_CXX_DTOR, name, 0);
}

static uint16_t read_binding(struct sf_cxx *x)
{
    uint16_t list = 0, tail = 0;
    while (!sf_cxx_eat(x, 'E') && !x->has_failed)
        sf_cxx_read_append(x, &list, &tail, sf_cxx_read_source_name(x));
    return sf_cxx_read_node(x, SF_CXX_BINDING, list, 0);
}

static uint16_t read_plain_name(struct sf_cxx *x, uint16_t scope)
{
    char c = sf_cxx_peek(x);
    if (c >= '0' && c <= '9')
        return sf_cxx_read_source_name(x);
    if (sf_cxx_read_eat2(x, "Ul"))
        return read_lambda(x);
    if (sf_cxx_read_eat2(x, "Ut"))
        return read_unnamed(x);
    if (sf_cxx_read_eat2(x, "DC"))
        return read_binding(x);
    if (c == 'C' || c == 'D')
        return read_ctor(x, scope);
    if (sf_cxx_eat(x, 'L')) { /* local to this file */
        uint16_t n = sf_cxx_read_source_name(x);
        uint32_t ignored;
        if (sf_cxx_peek(x) == '_' && sf_cxx_peek2(x) >= '0' && sf_cxx_peek2(x) <= '9') {
            x->at++;
            sf_cxx_read_number(x, &ignored);
        }
        return n;
    }
    return c >= 'a' && c <= 'z' ? sf_cxx_expr_operator(x) : sf_cxx_read_fault(x);
}

uint16_t sf_cxx_read_unqualified(struct sf_cxx *x, uint16_t scope)
{
    uint16_t n = read_plain_name(x, scope);
    while (sf_cxx_eat(x, 'B') && !x->has_failed) {
        uint16_t tag = sf_cxx_read_source_name(x);
        n = sf_cxx_read_node(x, SF_CXX_TAG, n, tag);
    }
    return n;
}

/* One step of a nested name: extends the name read so far. */
static uint16_t cxx_read_step(struct sf_cxx *x, uint16_t so_far, bool is_tagged, bool *is_known)
{
    char c = sf_cxx_peek(x), next = sf_cxx_peek2(x);
    uint16_t n;
    *is_known = false;
    if (c == 'I' && so_far)
        return sf_cxx_read_node(x, SF_CXX_TEMPLATE, so_far,
                                sf_cxx_read_template_args(x, is_tagged));
    if (c == 'T' && !so_far)
        return sf_cxx_read_template_param(x);
    if (c == 'D' && (next == 't' || next == 'T') && !so_far)
        return sf_cxx_type_decltype(x);
    if (c == 'S' && !so_far) {
        *is_known = true;
        if (sf_cxx_read_eat2(x, "St"))
            return sf_cxx_read_text(x, SF_CXX_NAME, "std", 3);
        return sf_cxx_read_substitution(x);
    }
    n = sf_cxx_read_unqualified(x, so_far);
    return so_far ? sf_cxx_read_node(x, SF_CXX_WITHIN, so_far, n) : n;
}

static uint16_t read_nested(struct sf_cxx *x, bool is_tagged, uint8_t *flags)
{
    uint16_t n = 0;
    uint8_t on = sf_cxx_type_cv(x);
    bool is_known = true;
    if (sf_cxx_eat(x, 'R'))
        on |= SF_CXX_ON_LREF;
    else if (sf_cxx_eat(x, 'O'))
        on |= SF_CXX_ON_RREF;
    while (!sf_cxx_eat(x, 'E') && !x->has_failed) {
        if (sf_cxx_eat(x, 'M')) /* a lambda in a member's initializer */
            continue;
        n = cxx_read_step(x, n, is_tagged, &is_known);
        if (!is_known)
            sf_cxx_read_remember(x, n);
    }
    if (!n || is_known)
        return sf_cxx_read_fault(x);
    x->n_subs--; /* the whole is added to the substitutions later, and only if it is a type */
    if (flags)
        *flags = on;
    return n;
}

static void skip_discriminator(struct sf_cxx *x)
{
    uint32_t ignored;
    if (!sf_cxx_eat(x, '_'))
        return;
    if (sf_cxx_eat(x, '_')) {
        if (!sf_cxx_read_number(x, &ignored) || !sf_cxx_eat(x, '_'))
            sf_cxx_read_fault(x);
    } else if (sf_cxx_peek(x) >= '0' && sf_cxx_peek(x) <= '9') {
        x->at++;
    }
}

static uint16_t read_default_arg(struct sf_cxx *x, uint8_t *flags)
{
    uint32_t number;
    uint16_t n;
    if (!read_discriminated(x, &number))
        return sf_cxx_read_fault(x);
    n = sf_cxx_read_node(x, SF_CXX_DEFAULT, sf_cxx_read_name(x, true, flags), 0);
    x->nodes[n].number = number;
    return n;
}

/* A name inside a function: its template arguments are not the outer ones. */
static uint16_t read_local(struct sf_cxx *x, bool is_tagged, uint8_t *flags)
{
    uint16_t saved[SF_CXX_ARGS], n_saved = x->n_args, function, inner;
    memcpy(saved, x->args, n_saved * sizeof(saved[0]));
    function = sf_cxx_read_encoding(x, false);
    if (!is_tagged) { /* a type in a signature, whose parameters are still needed */
        memcpy(x->args, saved, n_saved * sizeof(saved[0]));
        x->n_args = n_saved;
    }
    if (!sf_cxx_eat(x, 'E'))
        return sf_cxx_read_fault(x);
    if (sf_cxx_eat(x, 's')) {
        skip_discriminator(x);
        inner = sf_cxx_read_text(x, SF_CXX_NAME, "string literal", 14);
    } else if (sf_cxx_eat(x, 'd')) {
        inner = read_default_arg(x, flags);
    } else {
        inner = sf_cxx_read_name(x, is_tagged, flags);
        skip_discriminator(x);
    }
    return sf_cxx_read_node(x, SF_CXX_WITHIN, function, inner);
}

static uint16_t read_unscoped(struct sf_cxx *x)
{
    bool is_std = sf_cxx_read_eat2(x, "St");
    uint16_t n = sf_cxx_read_unqualified(x, 0);
    return is_std
               ? sf_cxx_read_node(x, SF_CXX_WITHIN, sf_cxx_read_text(x, SF_CXX_NAME, "std", 3), n)
               : n;
}

/* `is_tagged`: the name of an encoding, to whose template arguments its signature refers. `flags`
 * gets the qualifiers of a member function; NULL if it cannot be one. */
uint16_t sf_cxx_read_name(struct sf_cxx *x, bool is_tagged, uint8_t *flags)
{
    uint16_t n = 0;
    if (!sf_cxx_read_enter(x)) {
        sf_cxx_read_leave(x);
        return 0;
    }
    if (sf_cxx_eat(x, 'N')) {
        n = read_nested(x, is_tagged, flags);
    } else if (sf_cxx_eat(x, 'Z')) {
        n = read_local(x, is_tagged, flags);
    } else {
        bool is_known = sf_cxx_peek(x) == 'S' && sf_cxx_peek2(x) != 't';
        n = is_known ? sf_cxx_read_substitution(x) : read_unscoped(x);
        if (sf_cxx_peek(x) == 'I') {
            if (!is_known)
                sf_cxx_read_remember(x, n);
            n = sf_cxx_read_node(x, SF_CXX_TEMPLATE, n, sf_cxx_read_template_args(x, is_tagged));
        }
    }
    sf_cxx_read_leave(x);
    return n;
}

/* ---- templates ---- */

static uint16_t read_pack(struct sf_cxx *x)
{
    uint16_t list = 0, tail = 0;
    while (!sf_cxx_eat(x, 'E') && !x->has_failed)
        sf_cxx_read_append(x, &list, &tail, sf_cxx_read_template_arg(x));
    return sf_cxx_read_node(x, SF_CXX_PACK, list, 0);
}

uint16_t sf_cxx_read_template_arg(struct sf_cxx *x)
{
    uint16_t n = 0;
    if (!sf_cxx_read_enter(x)) {
        sf_cxx_read_leave(x);
        return 0;
    }
    if (sf_cxx_eat(x, 'X')) {
        n = sf_cxx_expr(x);
        if (!sf_cxx_eat(x, 'E'))
            sf_cxx_read_fault(x);
    } else if (sf_cxx_peek(x) == 'L') {
        n = sf_cxx_expr_literal(x);
    } else if (sf_cxx_eat(x, 'J') || sf_cxx_eat(x, 'I')) { /* I: used by compilers before C++11 was
                                                            * final */
        n = read_pack(x);
    } else {
        n = sf_cxx_type(x);
    }
    sf_cxx_read_leave(x);
    return n;
}

uint16_t sf_cxx_read_template_args(struct sf_cxx *x, bool is_tagged)
{
    uint16_t list = 0, tail = 0;
    if (!sf_cxx_eat(x, 'I'))
        return sf_cxx_read_fault(x);
    if (is_tagged)
        x->n_args = 0;
    while (!sf_cxx_eat(x, 'E') && !x->has_failed) {
        uint16_t arg = sf_cxx_read_template_arg(x);
        sf_cxx_read_append(x, &list, &tail, arg);
        if (is_tagged && x->n_args < SF_CXX_ARGS)
            x->args[x->n_args++] = arg;
    }
    return list ? list : sf_cxx_read_node(x, SF_CXX_LIST, 0, 0);
}

uint16_t sf_cxx_read_template_param(struct sf_cxx *x)
{
    uint32_t number;
    uint16_t n;
    if (!sf_cxx_eat(x, 'T'))
        return sf_cxx_read_fault(x);
    if (sf_cxx_eat(x, '_'))
        number = 0;
    else if (sf_cxx_read_number(x, &number) && sf_cxx_eat(x, '_'))
        number++;
    else
        return sf_cxx_read_fault(x);
    if (x->n_lambda) {
        n = sf_cxx_read_node(x, SF_CXX_AUTO, 0, 0);
        x->nodes[n].number = number + 1;
        return n;
    }
    if (x->is_forward && x->n_forwards < SF_CXX_FORWARDS) {
        n = sf_cxx_read_node(x, SF_CXX_FORWARD, 0, 0);
        x->nodes[n].number = number;
        x->forwards[x->n_forwards++] = n;
        return n;
    }
    if (number >= x->n_args)
        return sf_cxx_read_fault(x);
    n = x->args[number];
    return x->nodes[n].kind == SF_CXX_PACK ? sf_cxx_read_node(x, SF_CXX_PACK_PARAM, n, 0) : n;
}

uint16_t sf_cxx_read_substitution(struct sf_cxx *x)
{
    uint32_t number;
    if (!sf_cxx_eat(x, 'S'))
        return sf_cxx_read_fault(x);
    for (unsigned i = 0; i < sizeof(knowns) / sizeof(knowns[0]); i++) {
        const char *text;
        uint16_t n;
        if (!sf_cxx_eat(x, knowns[i].letter))
            continue;
        text = sf_cxx_peek(x) == 'C' || sf_cxx_peek(x) == 'D' ? knowns[i].whole : knowns[i].text;
        n = sf_cxx_read_text(x, SF_CXX_NAME, text, strlen(text));
        if (sf_cxx_eat(x, 'B')) {
            n = sf_cxx_read_node(x, SF_CXX_TAG, n, sf_cxx_read_source_name(x));
            sf_cxx_read_remember(x, n);
        }
        return n;
    }
    if (!cxx_sequence(x, &number) || number >= x->n_subs)
        return sf_cxx_read_fault(x);
    return x->subs[number];
}

/* ---- encodings ---- */

static void resolve_forwards(struct sf_cxx *x, uint16_t first)
{
    for (uint16_t i = first; i < x->n_forwards; i++) {
        struct sf_cxx_node *n = &x->nodes[x->forwards[i]];
        if (n->number < x->n_args)
            n->a = x->args[n->number];
        else
            sf_cxx_read_fault(x);
    }
    x->n_forwards = first;
}

/* Only template functions have a return type in their name, except constructors, destructors and
 * conversions. */
static bool has_return_type(const struct sf_cxx *x, uint16_t n)
{
    for (int i = 0; i < SF_CXX_DEPTH && x->nodes[n].kind == SF_CXX_WITHIN; i++)
        n = x->nodes[n].b;
    if (x->nodes[n].kind != SF_CXX_TEMPLATE)
        return false;
    n = cxx_read_last_name(x, n);
    return x->nodes[n].kind != SF_CXX_CTOR && x->nodes[n].kind != SF_CXX_DTOR &&
           x->nodes[n].kind != SF_CXX_CONVERT;
}

struct special {
    char code[3];
    const char *text;
    bool is_type;
};

static const struct special specials[] = {
    {"TV", "vtable for ", true},
    {"TT", "VTT for ", true},
    {"TI", "typeinfo for ", true},
    {"TS", "typeinfo name for ", true},
    {"TF", "typeinfo fn for ", true},
    {"TJ", "java Class for ", true},
    {"TH", "TLS init function for ", false},
    {"TW", "TLS wrapper function for ", false},
    {"GV", "guard variable for ", false},
    {"GA", "hidden alias for ", false},
};

static void skip_offset(struct sf_cxx *x)
{
    uint32_t ignored;
    sf_cxx_eat(x, 'n');
    if (!sf_cxx_read_number(x, &ignored) || !sf_cxx_eat(x, '_'))
        sf_cxx_read_fault(x);
}

static void skip_call_offset(struct sf_cxx *x)
{
    if (sf_cxx_eat(x, 'v'))
        skip_offset(x);
    else if (!sf_cxx_eat(x, 'h'))
        sf_cxx_read_fault(x);
    skip_offset(x);
}

static uint16_t special(struct sf_cxx *x, const char *text, uint16_t of)
{
    uint16_t n = sf_cxx_read_text(x, SF_CXX_SPECIAL, text, strlen(text));
    x->nodes[n].a = of;
    return n;
}

static uint16_t read_thunk(struct sf_cxx *x)
{
    if (sf_cxx_read_eat2(x, "Th")) {
        skip_offset(x);
        return special(x, "non-virtual thunk to ", sf_cxx_read_encoding(x, false));
    }
    if (sf_cxx_read_eat2(x, "Tv")) {
        skip_offset(x);
        skip_offset(x);
        return special(x, "virtual thunk to ", sf_cxx_read_encoding(x, false));
    }
    x->at += 2;
    skip_call_offset(x);
    skip_call_offset(x);
    return special(x, "covariant return thunk to ", sf_cxx_read_encoding(x, false));
}

static uint16_t read_construction(struct sf_cxx *x)
{
    uint32_t ignored;
    uint16_t derived = sf_cxx_type(x), base;
    if (!sf_cxx_read_number(x, &ignored) || !sf_cxx_eat(x, '_'))
        return sf_cxx_read_fault(x);
    base = sf_cxx_type(x);
    return sf_cxx_read_node(x, SF_CXX_CONSTRUCTION, base, derived);
}

static uint16_t read_reference_temporary(struct sf_cxx *x)
{
    uint16_t of = sf_cxx_read_name(x, false, NULL), n;
    uint32_t number = 0;
    if (x->at < x->end && !cxx_sequence(x, &number))
        return sf_cxx_read_fault(x);
    n = special(x, "reference temporary #", of);
    x->nodes[n].number = number;
    x->nodes[n].flags = 1;
    return n;
}

static uint16_t read_special(struct sf_cxx *x)
{
    char c = sf_cxx_peek(x), next = sf_cxx_peek2(x);
    for (unsigned i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
        const struct special *s = &specials[i];
        if (sf_cxx_read_eat2(x, s->code))
            return special(x, s->text,
                           s->is_type          ? sf_cxx_type(x)
                           : s->code[1] == 'A' ? sf_cxx_read_encoding(x, false)
                                               : sf_cxx_read_name(x, false, NULL));
    }
    if (c == 'T' && (next == 'h' || next == 'v' || next == 'c'))
        return read_thunk(x);
    if (sf_cxx_read_eat2(x, "TC"))
        return read_construction(x);
    if (sf_cxx_read_eat2(x, "TA"))
        return special(x, "template parameter object for ", sf_cxx_read_template_arg(x));
    if (sf_cxx_read_eat2(x, "GR"))
        return read_reference_temporary(x);
    if (sf_cxx_read_eat2(x, "GT")) {
        bool is_plain = sf_cxx_eat(x, 'n');
        if (!is_plain && !sf_cxx_eat(x, 't'))
            return sf_cxx_read_fault(x);
        return special(x, is_plain ? "non-transaction clone for " : "transaction clone for ",
                       sf_cxx_read_encoding(x, false));
    }
    return sf_cxx_read_fault(x);
}

uint16_t sf_cxx_read_encoding(struct sf_cxx *x, bool is_top)
{
    uint16_t name = 0, type, first = x->n_forwards;
    uint8_t flags = 0;
    bool has_return;
    if (!sf_cxx_read_enter(x)) {
        sf_cxx_read_leave(x);
        return 0;
    }
    if (sf_cxx_peek(x) == 'T' || sf_cxx_peek(x) == 'G') {
        name = read_special(x);
        sf_cxx_read_leave(x);
        return name;
    }
    name = sf_cxx_read_name(x, true, &flags);
    resolve_forwards(x, first);
    if (x->at < x->end && sf_cxx_peek(x) != 'E' && sf_cxx_peek(x) != '.') {
        has_return = has_return_type(x, name);
        type = has_return ? sf_cxx_type(x) : 0;
        type = sf_cxx_read_node(x, SF_CXX_FUNC_TYPE, is_top ? type : 0, 0);
        if (x->at < x->end && sf_cxx_peek(x) != 'E' && sf_cxx_peek(x) != '.')
            x->nodes[type].b = sf_cxx_type_params(x, 0);
        else
            sf_cxx_read_fault(x);
        x->nodes[type].flags = flags;
        name = sf_cxx_read_node(x, SF_CXX_FUNCTION, name, type);
    }
    sf_cxx_read_leave(x);
    return name;
}

/* ".isra.0", ".cold", ".constprop.1.part.2": copies made by the compiler. */
static uint16_t read_clones(struct sf_cxx *x, uint16_t n)
{
    while (sf_cxx_peek(x) == '.' && !x->has_failed) {
        const char *from = x->at;
        uint16_t clone;
        x->at++;
        if ((sf_cxx_peek(x) >= 'a' && sf_cxx_peek(x) <= 'z') || sf_cxx_peek(x) == '_') {
            while ((sf_cxx_peek(x) >= 'a' && sf_cxx_peek(x) <= 'z') || sf_cxx_peek(x) == '_')
                x->at++;
        } else if (sf_cxx_peek(x) < '0' || sf_cxx_peek(x) > '9') {
            return sf_cxx_read_fault(x);
        } else {
            x->at--;
        }
        while (sf_cxx_peek(x) == '.' && sf_cxx_peek2(x) >= '0' && sf_cxx_peek2(x) <= '9') {
            x->at++;
            while (sf_cxx_peek(x) >= '0' && sf_cxx_peek(x) <= '9')
                x->at++;
        }
        clone = sf_cxx_read_text(x, SF_CXX_CLONE, from, (size_t)(x->at - from));
        x->nodes[clone].a = n;
        n = clone;
    }
    return n;
}

uint16_t sf_cxx_read(struct sf_cxx *x, sf_str mangled)
{
    uint16_t root;
    memset(x, 0, offsetof(struct sf_cxx, subs)); /* the arrays need no clearing: their lengths are
                                                  * 0 */
    x->at = mangled.p;
    x->end = mangled.p + mangled.len;
    x->nodes[0] = (struct sf_cxx_node){0};
    x->n_nodes = 1; /* 0 is none */
    if (!sf_cxx_read_eat2(x, "_Z"))
        return 0;
    root = sf_cxx_read_encoding(x, true);
    root = read_clones(x, root);
    return x->has_failed || x->at != x->end ? 0 : root;
}
