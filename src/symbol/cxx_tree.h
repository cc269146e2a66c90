/* cxx_tree.h - a mangled C++ name as a tree, built by the reader and printed by the printer.
 *
 * The mangling is a grammar with back references: a part may be referred to again by its number, so
 * nodes may be shared. Nodes are indexes into one fixed array; 0 is none. References lead only to
 * completed nodes, so there are no cycles, except through parameters of conversion operators, for
 * which the depth of printing is limited. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum sf_cxx_kind {
    SF_CXX_NONE,
    SF_CXX_NAME,         /* text */
    SF_CXX_WITHIN,       /* a::b */
    SF_CXX_TEMPLATE,     /* a<b>; b a list */
    SF_CXX_CTOR,         /* of class a */
    SF_CXX_DTOR,         /* of class a */
    SF_CXX_OPERATOR,     /* text */
    SF_CXX_LITERAL_OP,   /* operator"" text */
    SF_CXX_CONVERT,      /* operator a */
    SF_CXX_LAMBDA,       /* {lambda(a)#number} */
    SF_CXX_UNNAMED,      /* {unnamed type#number} */
    SF_CXX_DEFAULT,      /* {default arg#number}::a */
    SF_CXX_TAG,          /* a[abi:text] */
    SF_CXX_BINDING,      /* [a, ...] */
    SF_CXX_FUNCTION,     /* name a with function type b */
    SF_CXX_SPECIAL,      /* text, then a */
    SF_CXX_CONSTRUCTION, /* construction vtable for a-in-b */
    SF_CXX_CLONE,        /* a [clone text] */
    SF_CXX_LIST,         /* a, then list b */
    SF_CXX_PACK,         /* list a, as one argument */
    SF_CXX_PACK_PARAM,   /* a parameter that is pack a */
    SF_CXX_BUILTIN,      /* text; number is the letter */
    SF_CXX_QUALIFIED,    /* a with flags */
    SF_CXX_POINTER,
    SF_CXX_LREF,
    SF_CXX_RREF,
    SF_CXX_AFTER,       /* a, then text: _Complex and vendors' qualifiers */
    SF_CXX_FUNC_TYPE,   /* returns a (0: not given), takes list b, noexcept(c) */
    SF_CXX_ARRAY,       /* of b elements of type a */
    SF_CXX_VECTOR,      /* of b elements of type a */
    SF_CXX_MEMBER,      /* pointer to b in class a */
    SF_CXX_EXPAND,      /* a... */
    SF_CXX_DECLTYPE,    /* of expression a */
    SF_CXX_FORWARD,     /* template parameter number, known later as a */
    SF_CXX_AUTO,        /* auto:number */
    SF_CXX_PARAM,       /* {parm#number} */
    SF_CXX_LITERAL,     /* text of type a; flag MINUS */
    SF_CXX_UNARY,       /* op `op`, a; flag SUFFIX */
    SF_CXX_BINARY,      /* op, a, b */
    SF_CXX_TERNARY,     /* op, a, b, c */
    SF_CXX_CALL,        /* a(list b) */
    SF_CXX_CAST,        /* (a)(b): expression b, or a list with flag LIST */
    SF_CXX_NAMED_CAST,  /* text<a>(b) */
    SF_CXX_BRACES,      /* a{list b} */
    SF_CXX_SIZEOF_PACK, /* a */
    SF_CXX_NEW,         /* new a(list b) with flags */
    SF_CXX_FOLD,        /* text is the letter, op, a, b */
    SF_CXX_GLOBAL       /* ::a */
};

enum {
    SF_CXX_CONST = 1,
    SF_CXX_VOLATILE = 2,
    SF_CXX_RESTRICT = 4,
    SF_CXX_ON_LREF = 8, /* of a member function: & and && */
    SF_CXX_ON_RREF = 16,
    SF_CXX_NOEXCEPT = 32,
    SF_CXX_TRANSACTION = 64,
    SF_CXX_CV = 7,
    SF_CXX_MINUS = 1, /* the same values, used with other node kinds */
    SF_CXX_SUFFIX = 1,
    SF_CXX_IS_LIST = 1
};

struct sf_cxx_node {
    uint8_t kind, flags;
    uint16_t a, b, c;
    uint16_t op; /* in sf_cxx_ops */
    uint32_t number;
    const char *text; /* in the mangled name, or constant */
    uint32_t len;
};

enum { SF_CXX_NODES = 2048, SF_CXX_SUBS = 512, SF_CXX_ARGS = 128, SF_CXX_FORWARDS = 16 };
enum { SF_CXX_DEPTH = 72, SF_CXX_PRINT_DEPTH = 200, SF_CXX_PRINT_STEPS = 1 << 16 };

struct sf_cxx {
    const char *at, *end;
    bool has_failed;
    uint16_t depth;
    uint16_t n_nodes, n_subs, n_args, n_forwards;
    bool is_forward;   /* inside the type of a conversion operator: template parameters are known
                        * later */
    uint16_t n_lambda; /* nesting depth of lists of lambda parameters */
    uint16_t subs[SF_CXX_SUBS];
    uint16_t args[SF_CXX_ARGS]; /* arguments of the template whose signature is read */
    uint16_t forwards[SF_CXX_FORWARDS];
    struct sf_cxx_node nodes[SF_CXX_NODES];
};

struct sf_cxx_op {
    char code[3];
    uint8_t n; /* operands */
    const char *text;
};
extern const struct sf_cxx_op sf_cxx_ops[];

/* ---- shared by the files that read: each returns its node, 0 after a fault ---- */

static inline char sf_cxx_peek(const struct sf_cxx *x)
{
    return x->at < x->end ? *x->at : 0;
}
static inline char sf_cxx_peek2(const struct sf_cxx *x)
{
    return x->end - x->at > 1 ? x->at[1] : 0;
}
static inline bool sf_cxx_eat(struct sf_cxx *x, char c)
{
    if (sf_cxx_peek(x) != c || !c)
        return false;
    x->at++;
    return true;
}
bool sf_cxx_read_eat2(struct sf_cxx *x, const char *two);
uint16_t sf_cxx_read_fault(struct sf_cxx *x);
uint16_t sf_cxx_read_node(struct sf_cxx *x, enum sf_cxx_kind kind, uint16_t a, uint16_t b);
uint16_t sf_cxx_read_text(struct sf_cxx *x, enum sf_cxx_kind kind, const char *text, size_t len);
uint16_t sf_cxx_read_append(struct sf_cxx *x, uint16_t *list, uint16_t *tail, uint16_t item);
void sf_cxx_read_remember(struct sf_cxx *x, uint16_t node);
bool sf_cxx_read_enter(struct sf_cxx *x); /* one level deeper; false: too deep. To be paired with
                                           * leave in any case */
void sf_cxx_read_leave(struct sf_cxx *x);
bool sf_cxx_read_number(struct sf_cxx *x, uint32_t *out); /* digits */

uint16_t sf_cxx_read_encoding(struct sf_cxx *x, bool is_top);
uint16_t sf_cxx_read_name(struct sf_cxx *x, bool is_tagged, uint8_t *flags);
uint16_t sf_cxx_read_unqualified(struct sf_cxx *x, uint16_t scope);
uint16_t sf_cxx_read_source_name(struct sf_cxx *x);
uint16_t sf_cxx_read_template_args(struct sf_cxx *x, bool is_tagged);
uint16_t sf_cxx_read_template_arg(struct sf_cxx *x);
uint16_t sf_cxx_read_template_param(struct sf_cxx *x);
uint16_t sf_cxx_read_substitution(struct sf_cxx *x);
uint16_t sf_cxx_type(struct sf_cxx *x);
uint16_t sf_cxx_type_params(struct sf_cxx *x, char end); /* types until `end`, or the end */
uint16_t sf_cxx_type_decltype(struct sf_cxx *x);
uint8_t sf_cxx_type_cv(struct sf_cxx *x);
uint16_t sf_cxx_expr(struct sf_cxx *x);
uint16_t sf_cxx_expr_literal(struct sf_cxx *x);
uint16_t sf_cxx_expr_operator(struct sf_cxx *x);

/* ---- reader and printer ---- */
uint16_t sf_cxx_read(struct sf_cxx *x, sf_str mangled); /* the root; 0: not a mangled name */
bool sf_cxx_print(const struct sf_cxx *x, uint16_t root, struct sf_buf *out);
