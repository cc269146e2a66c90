#include "query/expr_fold.h"

#include <math.h>

static bool expr_fold_is_number(enum sf_static_type t)
{
    return t == SF_TYPE_INT || t == SF_TYPE_FLOAT || t == SF_TYPE_DURATION;
}

static struct sf_static expr_fold_nil(void)
{
    return (struct sf_static){.type = SF_TYPE_NIL};
}

static struct sf_static expr_fold_truth(bool is_true)
{
    return (struct sf_static){SF_TYPE_BOOL, {.is_true = is_true}};
}

double sf_expr_fold_number(struct sf_static v)
{
    return v.type == SF_TYPE_FLOAT ? v.f64 : (double)v.i64;
}

struct sf_static sf_expr_fold_unary(enum sf_expr_op op, struct sf_static v)
{
    if (op == SF_EXPR_NOT)
        return v.type == SF_TYPE_BOOL ? expr_fold_truth(!v.is_true) : expr_fold_truth(false);
    if (v.type == SF_TYPE_FLOAT)
        v.f64 = -v.f64;
    else if (expr_fold_is_number(v.type))
        v.i64 = (int64_t)(0 - (uint64_t)v.i64); /* the smallest integer is unchanged by negation */
    else
        return expr_fold_nil();
    return v;
}

static bool ordered(enum sf_expr_op op, int order)
{
    switch (op) {
    case SF_EXPR_EQ: return order == 0;
    case SF_EXPR_NE: return order != 0;
    case SF_EXPR_LT: return order < 0;
    case SF_EXPR_LE: return order <= 0;
    case SF_EXPR_GT: return order > 0;
    case SF_EXPR_GE: return order >= 0;
    default: return false;
    }
}

static bool compare_floats(enum sf_expr_op op, double a, double b)
{
    switch (op) { /* as in IEEE 754: NaN equals nothing */
    case SF_EXPR_EQ: return a == b;
    case SF_EXPR_NE: return a != b;
    case SF_EXPR_LT: return a < b;
    case SF_EXPR_LE: return a <= b;
    case SF_EXPR_GT: return a > b;
    case SF_EXPR_GE: return a >= b;
    default: return false;
    }
}

bool sf_expr_fold_compare(enum sf_expr_op op, struct sf_static a, struct sf_static b)
{
    if (expr_fold_is_number(a.type) && expr_fold_is_number(b.type)) {
        if (a.type == SF_TYPE_FLOAT || b.type == SF_TYPE_FLOAT)
            return compare_floats(op, sf_expr_fold_number(a), sf_expr_fold_number(b));
        return ordered(op, (a.i64 > b.i64) - (a.i64 < b.i64));
    }
    if (a.type != b.type)
        return false;
    switch (a.type) {
    case SF_TYPE_STRING: return ordered(op, sf_str_cmp(a.str, b.str));
    case SF_TYPE_BOOL:
        return op == SF_EXPR_EQ ? a.is_true == b.is_true
                                : op == SF_EXPR_NE && a.is_true != b.is_true;
    case SF_TYPE_STATUS:
    case SF_TYPE_KIND:
        return op == SF_EXPR_EQ ? a.i64 == b.i64 : op == SF_EXPR_NE && a.i64 != b.i64;
    default: return false;
    }
}

enum sf_static_type sf_expr_fold_binary_type(enum sf_expr_op op, enum sf_static_type a,
                                             enum sf_static_type b)
{
    if (op <= SF_EXPR_OR)
        return SF_TYPE_BOOL;
    if (!expr_fold_is_number(a) || !expr_fold_is_number(b))
        return SF_TYPE_NIL;
    return a == SF_TYPE_INT && b == SF_TYPE_INT && op != SF_EXPR_POW ? SF_TYPE_INT : SF_TYPE_FLOAT;
}

static struct sf_static int_arithmetic(enum sf_expr_op op, int64_t a, int64_t b)
{
    struct sf_static out = {.type = SF_TYPE_INT};
    switch (op) { /* overflow wraps around, as in Go */
    case SF_EXPR_ADD: out.i64 = (int64_t)((uint64_t)a + (uint64_t)b); return out;
    case SF_EXPR_SUB: out.i64 = (int64_t)((uint64_t)a - (uint64_t)b); return out;
    case SF_EXPR_MUL: out.i64 = (int64_t)((uint64_t)a * (uint64_t)b); return out;
    case SF_EXPR_DIV:
        if (b == 0)
            return expr_fold_nil();
        out.i64 = b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
        return out;
    case SF_EXPR_MOD:
        if (b == 0)
            return expr_fold_nil();
        out.i64 = b == -1 ? 0 : a % b;
        return out;
    default: return expr_fold_nil();
    }
}

static struct sf_static float_arithmetic(enum sf_expr_op op, double a, double b)
{
    struct sf_static out = {.type = SF_TYPE_FLOAT};
    switch (op) {
    case SF_EXPR_ADD: out.f64 = a + b; return out;
    case SF_EXPR_SUB: out.f64 = a - b; return out;
    case SF_EXPR_MUL: out.f64 = a * b; return out;
    case SF_EXPR_DIV: out.f64 = a / b; return out;
    case SF_EXPR_MOD: out.f64 = fmod(a, b); return out;
    case SF_EXPR_POW: out.f64 = pow(a, b); return out;
    default: return expr_fold_nil();
    }
}

struct sf_static sf_expr_fold_binary(enum sf_expr_op op, struct sf_static a, struct sf_static b)
{
    bool is_a = a.type == SF_TYPE_BOOL && a.is_true, is_b = b.type == SF_TYPE_BOOL && b.is_true;
    if (op == SF_EXPR_AND)
        return expr_fold_truth(is_a && is_b);
    if (op == SF_EXPR_OR)
        return expr_fold_truth(is_a || is_b);
    if (op <= SF_EXPR_GE)
        return expr_fold_truth(sf_expr_fold_compare(op, a, b));
    if (!expr_fold_is_number(a.type) || !expr_fold_is_number(b.type))
        return expr_fold_nil();
    if (a.type == SF_TYPE_INT && b.type == SF_TYPE_INT && op != SF_EXPR_POW)
        return int_arithmetic(op, a.i64, b.i64);
    return float_arithmetic(op, sf_expr_fold_number(a), sf_expr_fold_number(b));
}
