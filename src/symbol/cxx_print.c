/* Prints the tree of a C++ name in the form that binutils uses. A type is written on both sides of
 * what it declares - "void (*" and ")(int)" - so it is printed in two parts. */
#include "symbol/cxx_tree.h"

#include <string.h>

#include "symbol/demangler.h"

struct printer {
    const struct sf_cxx *x;
    struct sf_buf *out;
    size_t from; /* start of our text in the buffer */
    uint32_t depth;
    uint32_t steps;    /* limits the work, because shared parts may be printed very often */
    uint32_t n_lambda; /* nesting depth of lists of lambda parameters */
    int32_t pack_at;   /* the element of a pack that is printed; -1: none */
    bool has_failed;
};

static void print(struct printer *p, uint16_t n);
static void print_left(struct printer *p, uint16_t n);
static void print_right(struct printer *p, uint16_t n);

static void cxx_print_put(struct printer *p, const char *text, size_t len)
{
    if (p->has_failed || p->out->len - p->from > SF_DEMANGLE_MAX_LEN - len ||
        len > SF_DEMANGLE_MAX_LEN)
        p->has_failed = true;
    else
        sf_buf_add(p->out, text, len);
}

static void cxx_print_say(struct printer *p, const char *text)
{
    cxx_print_put(p, text, strlen(text));
}

static void cxx_print_say_number(struct printer *p, uint32_t v)
{
    char digits[10];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    cxx_print_put(p, digits + at, sizeof(digits) - at);
}

static char last(const struct printer *p)
{
    return p->out->len > p->from ? (char)p->out->p[p->out->len - 1] : 0;
}

/* ---- packs ---- */

static uint32_t list_len(const struct printer *p, uint16_t list)
{
    uint32_t n = 0;
    for (; list; list = p->x->nodes[list].b)
        n += p->x->nodes[list].a != 0;
    return n;
}

static uint16_t list_item(const struct printer *p, uint16_t list, int32_t at)
{
    for (; list && at > 0; at--)
        list = p->x->nodes[list].b;
    return list ? p->x->nodes[list].a : 0;
}

/* The node that `n` stands for: a pack's element while it is expanded, a parameter's argument. */
static uint16_t cxx_print_resolve(const struct printer *p, uint16_t n)
{
    for (int i = 0; i < 8; i++) {
        const struct sf_cxx_node *node = &p->x->nodes[n];
        if (node->kind == SF_CXX_PACK_PARAM)
            n = p->pack_at < 0 ? node->a : list_item(p, p->x->nodes[node->a].a, p->pack_at);
        else if (node->kind == SF_CXX_FORWARD)
            n = node->a;
        else if (node->kind == SF_CXX_AUTO && !p->n_lambda && node->number <= p->x->n_args)
            n = p->x->args[node->number - 1]; /* used again in the signature of the call itself */
        else
            break;
    }
    return n;
}

/* The first pack inside a pattern; 0: none. */
static uint16_t find_pack(struct printer *p, uint16_t n, int depth)
{
    const struct sf_cxx_node *node = &p->x->nodes[n];
    uint16_t found;
    if (!n || depth > SF_CXX_DEPTH || ++p->steps > SF_CXX_PRINT_STEPS)
        return 0;
    if (node->kind == SF_CXX_PACK_PARAM)
        return node->a;
    if (node->kind == SF_CXX_EXPAND || node->kind == SF_CXX_PACK)
        return 0;
    found = find_pack(p, node->a, depth + 1);
    if (!found)
        found = find_pack(p, node->b, depth + 1);
    return found ? found : find_pack(p, node->c, depth + 1);
}

static void print_expansion(struct printer *p, uint16_t pattern)
{
    uint16_t pack = find_pack(p, pattern, 0);
    int32_t saved = p->pack_at;
    uint32_t n = list_len(p, p->x->nodes[pack].a);
    if (!pack) {
        print(p, pattern);
        cxx_print_say(p, "...");
        return;
    }
    for (uint32_t i = 0; i < n && !p->has_failed; i++) {
        p->pack_at = (int32_t)i;
        if (i)
            cxx_print_say(p, ", ");
        print(p, pattern);
    }
    p->pack_at = saved;
}

static void print_list(struct printer *p, uint16_t list)
{
    bool is_first = true;
    for (; list && !p->has_failed; list = p->x->nodes[list].b) {
        size_t before = p->out->len, text_at;
        if (!is_first)
            cxx_print_say(p, ", ");
        text_at = p->out->len;
        if (p->x->nodes[list].a)
            print(p, p->x->nodes[list].a);
        if (p->out->len == text_at && !p->has_failed) /* an empty pack prints nothing */
            p->out->len = before;
        else
            is_first = false;
    }
}

/* ---- types ---- */

static void say_flags(struct printer *p, unsigned flags)
{
    if (flags & SF_CXX_CONST)
        cxx_print_say(p, " const");
    if (flags & SF_CXX_VOLATILE)
        cxx_print_say(p, " volatile");
    if (flags & SF_CXX_RESTRICT)
        cxx_print_say(p, " __restrict");
}

/* Qualifiers of an array are those of its elements. */
static enum sf_cxx_kind cxx_print_kind_of(const struct printer *p, uint16_t n)
{
    const struct sf_cxx_node *node = &p->x->nodes[cxx_print_resolve(p, n)];
    if (node->kind == SF_CXX_QUALIFIED)
        node = &p->x->nodes[cxx_print_resolve(p, node->a)];
    return (enum sf_cxx_kind)node->kind;
}

static bool cxx_print_is_split(const struct printer *p, uint16_t n)
{
    enum sf_cxx_kind kind = cxx_print_kind_of(p, n);
    return kind == SF_CXX_FUNC_TYPE || kind == SF_CXX_ARRAY;
}

/* Whether a part of the type is printed after what it declares. */
static bool has_right(const struct printer *p, uint16_t n)
{
    for (int i = 0; i < SF_CXX_DEPTH; i++) {
        const struct sf_cxx_node *node = &p->x->nodes[cxx_print_resolve(p, n)];
        switch (node->kind) {
        case SF_CXX_FUNC_TYPE:
        case SF_CXX_ARRAY: return true;
        case SF_CXX_POINTER:
        case SF_CXX_LREF:
        case SF_CXX_RREF:
        case SF_CXX_QUALIFIED: n = node->a; break;
        case SF_CXX_MEMBER: n = node->b; break;
        default: return false;
        }
    }
    return false;
}

/* Reference collapsing: && only if both are. */
static uint16_t collapse(const struct printer *p, uint16_t n, enum sf_cxx_kind *kind)
{
    *kind = (enum sf_cxx_kind)p->x->nodes[n].kind;
    n = p->x->nodes[n].a;
    for (int i = 0; *kind != SF_CXX_POINTER && i < SF_CXX_DEPTH; i++) {
        uint16_t to = cxx_print_resolve(p, n);
        enum sf_cxx_kind inner = (enum sf_cxx_kind)p->x->nodes[to].kind;
        if (inner != SF_CXX_LREF && inner != SF_CXX_RREF)
            break;
        if (inner == SF_CXX_LREF)
            *kind = SF_CXX_LREF;
        n = p->x->nodes[to].a;
    }
    return n;
}

static void print_pointer_left(struct printer *p, uint16_t n)
{
    enum sf_cxx_kind kind;
    uint16_t of = collapse(p, n, &kind);
    print_left(p, of);
    if (cxx_print_is_split(p, of)) {
        if (last(p) != '(' && last(p) != ' ' && cxx_print_kind_of(p, of) == SF_CXX_ARRAY)
            cxx_print_say(p, " ");
        cxx_print_say(p, "(");
    }
    cxx_print_say(p, kind == SF_CXX_POINTER ? "*" : kind == SF_CXX_LREF ? "&" : "&&");
}

static void print_pointer_right(struct printer *p, uint16_t n)
{
    enum sf_cxx_kind kind;
    uint16_t of = collapse(p, n, &kind);
    if (cxx_print_is_split(p, of))
        cxx_print_say(p, ")");
    print_right(p, of);
}

static void print_member_left(struct printer *p, const struct sf_cxx_node *node)
{
    print_left(p, node->b);
    if (cxx_print_is_split(p, node->b)) {
        if (cxx_print_kind_of(p, node->b) == SF_CXX_ARRAY)
            cxx_print_say(p, " ");
        cxx_print_say(p, "(");
    } else {
        cxx_print_say(p, " ");
    }
    print(p, node->a);
    cxx_print_say(p, "::*");
}

/* "(params)" and what follows it. */
static void print_function_right(struct printer *p, const struct sf_cxx_node *type)
{
    cxx_print_say(p, "(");
    print_list(p, type->b);
    cxx_print_say(p, ")");
    if (type->a)
        print_right(p, type->a);
    say_flags(p, type->flags);
    if (type->flags & SF_CXX_TRANSACTION)
        cxx_print_say(p, " transaction_safe");
    if (type->flags & SF_CXX_NOEXCEPT) {
        cxx_print_say(p, " noexcept");
        if (type->c) {
            cxx_print_say(p, "(");
            print(p, type->c);
            cxx_print_say(p, ")");
        }
    }
    if (type->flags & SF_CXX_ON_LREF)
        cxx_print_say(p, " &");
    if (type->flags & SF_CXX_ON_RREF)
        cxx_print_say(p, " &&");
}

static void print_array_right(struct printer *p, const struct sf_cxx_node *node)
{
    if (last(p) != ']')
        cxx_print_say(p, " ");
    cxx_print_say(p, "[");
    if (node->b)
        print(p, node->b);
    cxx_print_say(p, "]");
    print_right(p, node->a);
}

/* ---- names ---- */

static void print_args(struct printer *p, uint16_t list)
{
    if (last(p) == '<')
        cxx_print_say(p, " "); /* operator< followed by arguments */
    cxx_print_say(p, "<");
    print_list(p, list);
    cxx_print_say(p, last(p) == '>' ? " >" : ">");
}

static void print_function(struct printer *p, const struct sf_cxx_node *node)
{
    const struct sf_cxx_node *type = &p->x->nodes[node->b];
    if (type->a) {
        print_left(p, type->a);
        if (!has_right(p, type->a) || (last(p) != '(' && last(p) != '*' && last(p) != '&'))
            cxx_print_say(p, " ");
    }
    print(p, node->a);
    print_function_right(p, type);
}

static void print_operator(struct printer *p, const struct sf_cxx_node *node)
{
    size_t len = node->len;
    cxx_print_say(p, "operator");
    if (node->text[0] >= 'a' && node->text[0] <= 'z')
        cxx_print_say(p, " ");
    while (len && node->text[len - 1] == ' ')
        len--;
    cxx_print_put(p, node->text, len);
}

static void print_builtin(struct printer *p, const struct sf_cxx_node *node)
{
    cxx_print_put(p, node->text, node->len);
    if (!node->op)
        return;
    cxx_print_say_number(p, node->number);
    if (node->flags)
        cxx_print_say(p, "x");
    if (node->text[0] == 's')
        cxx_print_say(p, "_t");
}

static void print_special(struct printer *p, const struct sf_cxx_node *node)
{
    cxx_print_put(p, node->text, node->len);
    if (node->flags) {
        cxx_print_say_number(p, node->number);
        cxx_print_say(p, " for ");
    }
    print(p, node->a);
}

/* ---- expressions ---- */

static void print_operand(struct printer *p, uint16_t n)
{
    enum sf_cxx_kind kind = (enum sf_cxx_kind)p->x->nodes[n].kind;
    bool is_simple = kind == SF_CXX_NAME || kind == SF_CXX_WITHIN || kind == SF_CXX_PARAM ||
                     kind == SF_CXX_BRACES;
    if (!is_simple)
        cxx_print_say(p, "(");
    print(p, n);
    if (!is_simple)
        cxx_print_say(p, ")");
}

static void print_literal(struct printer *p, const struct sf_cxx_node *node)
{
    const struct sf_cxx_node *type = &p->x->nodes[cxx_print_resolve(p, node->a)];
    static const char suffixes[][5] = {"i", "ju", "ll", "mul", "xll", "yull"};
    sf_str text = {node->text, node->len};
    if (type->kind == SF_CXX_BUILTIN && !type->op) {
        if (type->number == 'b' && text.len == 1 && (text.p[0] == '0' || text.p[0] == '1')) {
            cxx_print_say(p, text.p[0] == '1' ? "true" : "false");
            return;
        }
        for (unsigned i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
            if (type->number != (uint8_t)suffixes[i][0])
                continue;
            if (type->len == 13 && type->text[0] == 'd')
                break; /* Di and similar share letters */
            if (node->flags & SF_CXX_MINUS)
                cxx_print_say(p, "-");
            cxx_print_put(p, text.p, text.len);
            cxx_print_say(p, suffixes[i] + 1);
            return;
        }
    }
    cxx_print_say(p, "(");
    print(p, node->a);
    cxx_print_say(p, ")");
    if (node->flags & SF_CXX_MINUS)
        cxx_print_say(p, "-");
    if (type->kind == SF_CXX_BUILTIN && !type->op &&
        (type->number == 'f' || type->number == 'd' || type->number == 'e')) {
        cxx_print_say(p, "[");
        cxx_print_put(p, text.p, text.len);
        cxx_print_say(p, "]");
    } else {
        cxx_print_put(p, text.p, text.len);
    }
}

static void print_unary(struct printer *p, const struct sf_cxx_node *node)
{
    const struct sf_cxx_op *op = &sf_cxx_ops[node->op];
    uint16_t of = node->a;
    bool is_address = !strcmp(op->code, "ad");
    if (node->flags & SF_CXX_SUFFIX) {
        print_operand(p, of);
        cxx_print_say(p, op->text);
        return;
    }
    /* For the address of a function the list of parameters is omitted. */
    if (is_address && p->x->nodes[of].kind == SF_CXX_FUNCTION &&
        p->x->nodes[p->x->nodes[of].a].kind == SF_CXX_WITHIN)
        of = p->x->nodes[of].a;
    cxx_print_say(p, op->text);
    if (!strcmp(op->code, "st") || !strcmp(op->code, "nx") || !strcmp(op->code, "at")) {
        cxx_print_say(p, "(");
        print(p, of);
        cxx_print_say(p, ")");
    } else {
        print_operand(p, of);
    }
}

static void print_binary(struct printer *p, const struct sf_cxx_node *node)
{
    const struct sf_cxx_op *op = &sf_cxx_ops[node->op];
    bool is_greater = !strcmp(op->text, ">"); /* it would end the template arguments */
    if (is_greater)
        cxx_print_say(p, "(");
    print_operand(p, node->a);
    if (!strcmp(op->code, "ix")) {
        cxx_print_say(p, "[");
        print(p, node->b);
        cxx_print_say(p, "]");
    } else {
        cxx_print_say(p, op->text);
        print_operand(p, node->b);
    }
    if (is_greater)
        cxx_print_say(p, ")");
}

static void print_call(struct printer *p, const struct sf_cxx_node *node)
{
    uint16_t of = node->a;
    if (p->x->nodes[of].kind == SF_CXX_FUNCTION)
        of = p->x->nodes[of].a;
    print_operand(p, of);
    cxx_print_say(p, "(");
    print_list(p, node->b);
    cxx_print_say(p, ")");
}

static void print_fold(struct printer *p, const struct sf_cxx_node *node)
{
    const char *op = sf_cxx_ops[node->op].text;
    int32_t saved = p->pack_at;
    p->pack_at = -1;
    cxx_print_say(p, "(");
    switch (node->text[0]) {
    case 'l':
        cxx_print_say(p, "...");
        cxx_print_say(p, op);
        print_operand(p, node->a);
        break;
    case 'r':
        print_operand(p, node->a);
        cxx_print_say(p, op);
        cxx_print_say(p, "...");
        break;
    default:
        print_operand(p, node->a);
        cxx_print_say(p, op);
        cxx_print_say(p, "...");
        cxx_print_say(p, op);
        print_operand(p, node->b);
        break;
    }
    cxx_print_say(p, ")");
    p->pack_at = saved;
}

static void print_pack_size(struct printer *p, uint16_t of)
{
    const struct sf_cxx_node *pack = &p->x->nodes[of];
    uint32_t n = 0;
    if (pack->kind == SF_CXX_PACK_PARAM)
        pack = &p->x->nodes[pack->a];
    if (pack->kind != SF_CXX_PACK) {
        cxx_print_say(p, "sizeof...(");
        print(p, of);
        cxx_print_say(p, ")");
        return;
    }
    for (uint16_t list = pack->a; list; list = p->x->nodes[list].b) {
        const struct sf_cxx_node *item = &p->x->nodes[p->x->nodes[list].a];
        if (item->kind == SF_CXX_EXPAND)
            n += list_len(p, p->x->nodes[find_pack(p, item->a, 0)].a);
        else
            n += p->x->nodes[list].a != 0;
    }
    cxx_print_say_number(p, n);
}

static void print_cast(struct printer *p, const struct sf_cxx_node *node)
{
    cxx_print_say(p, "(");
    print(p, node->a);
    cxx_print_say(p, ")");
    if (node->flags & SF_CXX_IS_LIST) {
        cxx_print_say(p, "(");
        print_list(p, node->b);
        cxx_print_say(p, ")");
    } else {
        print_operand(p, node->b);
    }
}

static void print_expression(struct printer *p, const struct sf_cxx_node *node)
{
    switch (node->kind) {
    case SF_CXX_LITERAL: print_literal(p, node); break;
    case SF_CXX_UNARY: print_unary(p, node); break;
    case SF_CXX_BINARY: print_binary(p, node); break;
    case SF_CXX_CALL: print_call(p, node); break;
    case SF_CXX_CAST: print_cast(p, node); break;
    case SF_CXX_FOLD: print_fold(p, node); break;
    case SF_CXX_SIZEOF_PACK: print_pack_size(p, node->a); break;
    case SF_CXX_TERNARY:
        print_operand(p, node->a);
        cxx_print_say(p, "?");
        print_operand(p, node->b);
        cxx_print_say(p, " : ");
        print_operand(p, node->c);
        break;
    case SF_CXX_NAMED_CAST:
        cxx_print_put(p, node->text, node->len);
        cxx_print_say(p, "<");
        print(p, node->a);
        cxx_print_say(p, ">(");
        print(p, node->b);
        cxx_print_say(p, ")");
        break;
    case SF_CXX_BRACES:
        if (node->a)
            print(p, node->a);
        cxx_print_say(p, "{");
        print_list(p, node->b);
        cxx_print_say(p, "}");
        break;
    case SF_CXX_NEW:
        cxx_print_say(p, "new ");
        print(p, node->a);
        if (node->b) {
            cxx_print_say(p, "(");
            print_list(p, node->b);
            cxx_print_say(p, ")");
        }
        break;
    case SF_CXX_GLOBAL:
        cxx_print_say(p, "::");
        print(p, node->a);
        break;
    default: p->has_failed = true; break;
    }
}

/* ---- all kinds of nodes ---- */

static void cxx_print_numbered(struct printer *p, const char *before, uint32_t number)
{
    cxx_print_say(p, before);
    cxx_print_say_number(p, number);
    cxx_print_say(p, "}");
}

static void print_name(struct printer *p, const struct sf_cxx_node *node)
{
    switch (node->kind) {
    case SF_CXX_NAME: cxx_print_put(p, node->text, node->len); break;
    case SF_CXX_WITHIN:
        print(p, node->a);
        cxx_print_say(p, "::");
        print(p, node->b);
        break;
    case SF_CXX_TEMPLATE:
        print(p, node->a);
        print_args(p, node->b);
        break;
    case SF_CXX_CTOR: print(p, node->a); break;
    case SF_CXX_DTOR:
        cxx_print_say(p, "~");
        print(p, node->a);
        break;
    case SF_CXX_OPERATOR: print_operator(p, node); break;
    case SF_CXX_LITERAL_OP:
        cxx_print_say(p, "operator\"\" ");
        cxx_print_put(p, node->text, node->len);
        break;
    case SF_CXX_CONVERT:
        cxx_print_say(p, "operator ");
        print(p, node->a);
        break;
    case SF_CXX_LAMBDA:
        cxx_print_say(p, "{lambda(");
        p->n_lambda++;
        print_list(p, node->a);
        p->n_lambda--;
        cxx_print_numbered(p, ")#", node->number);
        break;
    case SF_CXX_UNNAMED: cxx_print_numbered(p, "{unnamed type#", node->number); break;
    case SF_CXX_DEFAULT:
        cxx_print_numbered(p, "{default arg#", node->number);
        cxx_print_say(p, "::");
        print(p, node->a);
        break;
    case SF_CXX_TAG:
        print(p, node->a);
        cxx_print_say(p, "[abi:");
        print(p, node->b);
        cxx_print_say(p, "]");
        break;
    case SF_CXX_BINDING:
        cxx_print_say(p, "[");
        print_list(p, node->a);
        cxx_print_say(p, "]");
        break;
    case SF_CXX_FUNCTION: print_function(p, node); break;
    case SF_CXX_SPECIAL: print_special(p, node); break;
    case SF_CXX_CONSTRUCTION:
        cxx_print_say(p, "construction vtable for ");
        print(p, node->a);
        cxx_print_say(p, "-in-");
        print(p, node->b);
        break;
    case SF_CXX_CLONE:
        print(p, node->a);
        cxx_print_say(p, " [clone ");
        cxx_print_put(p, node->text, node->len);
        cxx_print_say(p, "]");
        break;
    case SF_CXX_PACK: print_list(p, node->a); break;
    case SF_CXX_BUILTIN: print_builtin(p, node); break;
    case SF_CXX_EXPAND: print_expansion(p, node->a); break;
    case SF_CXX_DECLTYPE:
        cxx_print_say(p, "decltype (");
        print(p, node->a);
        cxx_print_say(p, ")");
        break;
    case SF_CXX_AUTO:
        cxx_print_say(p, "auto:");
        cxx_print_say_number(p, node->number);
        break;
    case SF_CXX_PARAM: cxx_print_numbered(p, "{parm#", node->number); break;
    default: print_expression(p, node); break;
    }
}

/* An argument may be const already. */
static void print_qualified_left(struct printer *p, const struct sf_cxx_node *node)
{
    const struct sf_cxx_node *of = &p->x->nodes[cxx_print_resolve(p, node->a)];
    unsigned flags = node->flags;
    if (of->kind == SF_CXX_QUALIFIED)
        flags &= ~(unsigned)of->flags;
    print_left(p, node->a);
    say_flags(p, flags);
}

/* False: too deep, or too much work. */
static bool cxx_print_enter(struct printer *p)
{
    if (++p->depth > SF_CXX_PRINT_DEPTH || ++p->steps > SF_CXX_PRINT_STEPS)
        p->has_failed = true;
    return !p->has_failed;
}

static void print_left(struct printer *p, uint16_t n)
{
    const struct sf_cxx_node *node = &p->x->nodes[cxx_print_resolve(p, n)];
    if (!cxx_print_enter(p)) {
        p->depth--;
        return;
    }
    switch (node->kind) {
    case SF_CXX_POINTER:
    case SF_CXX_LREF:
    case SF_CXX_RREF: print_pointer_left(p, cxx_print_resolve(p, n)); break;
    case SF_CXX_MEMBER: print_member_left(p, node); break;
    case SF_CXX_QUALIFIED: print_qualified_left(p, node); break;
    case SF_CXX_AFTER:
        print_left(p, node->a);
        cxx_print_say(p, " ");
        print(p, node->b);
        break;
    case SF_CXX_FUNC_TYPE:
        if (node->a) {
            print_left(p, node->a);
            if (last(p) != '(')
                cxx_print_say(p, " ");
        }
        break;
    case SF_CXX_ARRAY: print_left(p, node->a); break;
    case SF_CXX_VECTOR:
        print_left(p, node->a);
        cxx_print_say(p, " __vector(");
        print(p, node->b);
        cxx_print_say(p, ")");
        break;
    default: print_name(p, node); break;
    }
    p->depth--;
}

static void print_right(struct printer *p, uint16_t n)
{
    const struct sf_cxx_node *node = &p->x->nodes[cxx_print_resolve(p, n)];
    if (!cxx_print_enter(p)) {
        p->depth--;
        return;
    }
    switch (node->kind) {
    case SF_CXX_POINTER:
    case SF_CXX_LREF:
    case SF_CXX_RREF: print_pointer_right(p, cxx_print_resolve(p, n)); break;
    case SF_CXX_MEMBER:
        if (cxx_print_is_split(p, node->b))
            cxx_print_say(p, ")");
        print_right(p, node->b);
        break;
    case SF_CXX_QUALIFIED: print_right(p, node->a); break;
    case SF_CXX_FUNC_TYPE: print_function_right(p, node); break;
    case SF_CXX_ARRAY: print_array_right(p, node); break;
    default: break;
    }
    p->depth--;
}

static void print(struct printer *p, uint16_t n)
{
    print_left(p, n);
    print_right(p, n);
}

bool sf_cxx_print(const struct sf_cxx *x, uint16_t root, struct sf_buf *out)
{
    struct printer p = {.x = x, .out = out, .from = out->len, .pack_at = -1};
    print(&p, root);
    if (!p.has_failed && sf_buf_ok(out))
        return true;
    if (!out->err)
        out->len = p.from;
    return false;
}
