/* column_filter.c - compiles a TraceQL filter for columns. Parts of an AND are ordered by the cost
 * of what they read. Running a part fills a mask of rows: tables and dictionaries are evaluated
 * once per entry, numbers in plain loops, everything else row by row with the evaluator. */
#include "exec/column_filter.h"

#include <string.h>

#include "base/num.h"
#include "exec/eval_attr.h"
#include "exec/profile_conds.h"
#include "query/expr_fold.h"

enum kind { /* in the order in which an AND evaluates its parts */
            ALWAYS,
            CONSTANT,
            KIND,
            RESOURCE,
            SCOPE,
            NAME,
            DURATION,
            STATUS_MSG,
            SPAN,
            ANY,
            ROW,
            PROFILE,
            AND,
            OR,
            UNKNOWN
};

enum { MAX_PARTS = 32, NOT_ASKED = 2 };

struct sf_column_filter {
    enum kind kind;
    struct sf_eval *eval;
    const struct sf_expr *expr;
    struct sf_row_needs needs;
    struct sf_arena *req;
    /* attribute op literal: evaluated directly, without the evaluator */
    bool is_simple, is_mirrored;
    bool is_pattern; /* attribute =~ or !~ literal: likewise */
    struct sf_static literal;
    struct sf_column_filter **parts; /* AND, OR */
    uint32_t n_parts;
    uint8_t *verdicts; /* RESOURCE, SCOPE: by index in the table */
    uint32_t n_verdicts;
    uint64_t tables; /* for which the verdicts are */
};

/* ---- making ---- */

static enum kind column_filter_kind_of(const struct sf_row_needs *n)
{
    uint32_t from = n->sources;
    if (from & SF_FROM_TREE)
        return UNKNOWN;
    switch (from) {
    case 0: return CONSTANT;
    case SF_FROM_KIND: return KIND;
    case SF_FROM_RESOURCE: return RESOURCE;
    case SF_FROM_SCOPE: return SCOPE;
    case SF_FROM_NAME: return NAME;
    case SF_FROM_DURATION: return DURATION;
    case SF_FROM_STATUS_MSG: return STATUS_MSG;
    case SF_FROM_SPAN: return n->n_names == 1 ? SPAN : ROW;
    case SF_FROM_SPAN | SF_FROM_RESOURCE:
        return n->n_names == 1 && n->scopes == 1u << SF_SCOPE_ANY ? ANY : ROW;
    default: return ROW;
    }
}

static void find_simple(struct sf_column_filter *f)
{
    const struct sf_expr *e = f->expr, *lit;
    f->is_pattern = e->kind == SF_EXPR_BINARY &&
                    (e->op == SF_EXPR_MATCH || e->op == SF_EXPR_NO_MATCH) &&
                    e->left->kind == SF_EXPR_ATTR && e->right->kind == SF_EXPR_LITERAL;
    if (e->kind != SF_EXPR_BINARY || e->op > SF_EXPR_GE)
        return;
    f->is_mirrored = e->left->kind == SF_EXPR_LITERAL;
    lit = f->is_mirrored ? e->left : e->right;
    f->is_simple = lit->kind == SF_EXPR_LITERAL && lit->literal.type != SF_TYPE_NIL &&
                   (f->is_mirrored ? e->right : e->left)->kind == SF_EXPR_ATTR;
    f->literal = lit->literal;
}

static struct sf_column_filter *new_filter(struct sf_eval *eval, const struct sf_expr *expr,
                                           struct sf_arena *req)
{
    struct sf_column_filter *f = sf_arena_new(req, sizeof(*f));
    if (!f)
        return NULL;
    f->eval = eval;
    f->expr = expr;
    f->req = req;
    return f;
}

static void column_filter_insert(struct sf_column_filter *f, struct sf_column_filter *part)
{
    uint32_t i = f->n_parts++;
    for (; i > 0 && f->parts[i - 1]->kind > part->kind; i--)
        f->parts[i] = f->parts[i - 1];
    f->parts[i] = part;
}

/* Adds the operands of a chain of the same operator as parts of one filter. */
static bool column_filter_add_parts(struct sf_column_filter *f, const struct sf_expr *e,
                                    enum sf_expr_op op)
{
    struct sf_column_filter *part;
    if (e->kind == SF_EXPR_BINARY && e->op == op && f->n_parts + 2 < MAX_PARTS)
        return column_filter_add_parts(f, e->left, op) && column_filter_add_parts(f, e->right, op);
    part = sf_column_filter_new(f->eval, e, f->req);
    if (part)
        column_filter_insert(f, part);
    return part != NULL;
}

struct sf_column_filter *sf_column_filter_new(struct sf_eval *eval, const struct sf_expr *expr,
                                              struct sf_arena *req)
{
    struct sf_column_filter *f = new_filter(eval, expr, req);
    if (!f || !expr)
        return f;
    if (expr->kind == SF_EXPR_BINARY && (expr->op == SF_EXPR_AND || expr->op == SF_EXPR_OR)) {
        f->kind = expr->op == SF_EXPR_AND ? AND : OR;
        f->parts = sf_arena_new_n(req, MAX_PARTS + 1, sizeof(struct sf_column_filter *));
        if (!f->parts || !column_filter_add_parts(f, expr->left, expr->op) ||
            !column_filter_add_parts(f, expr->right, expr->op))
            return NULL;
        return f;
    }
    sf_column_batch_needs_add_expr(&f->needs, expr);
    f->kind = column_filter_kind_of(&f->needs);
    if (sf_eval_profiles(eval) && sf_profile_conds_is_needed(expr))
        f->kind = PROFILE;
    find_simple(f);
    return f;
}

/* ---- one value ---- */

static bool column_filter_holds(struct sf_column_filter *f, struct sf_column_batch *b)
{
    /* After the deadline nothing matches; the evaluator has the error. */
    return sf_eval_goes_on(f->eval) && sf_eval_is_true(f->eval, f->expr, &b->view, 0);
}

static bool value_holds(struct sf_column_filter *f, struct sf_column_batch *b, struct sf_value v)
{
    if (f->is_simple && v.type >= SF_VALUE_STR && v.type <= SF_VALUE_DOUBLE) {
        struct sf_static have = sf_eval_attr_static_from_value(v);
        return f->is_mirrored ? sf_expr_fold_compare(f->expr->op, f->literal, have)
                              : sf_expr_fold_compare(f->expr->op, have, f->literal);
    }
    if (f->is_pattern && v.type == SF_VALUE_STR)
        return sf_eval_goes_on(f->eval) && sf_eval_matches(f->eval, f->expr, v.str);
    b->attrs[0] = (struct sf_attr){f->needs.names[0], v};
    b->span = (struct sf_span){.attrs = {b->attrs, v.type != SF_VALUE_NONE}};
    return column_filter_holds(f, b);
}

/* ---- columns ---- */

static uint8_t *new_verdicts(struct sf_column_batch *b, uint32_t n)
{
    uint8_t *v = sf_arena_raw(b->cols->scratch, (size_t)n + 1, 1);
    if (v)
        memset(v, NOT_ASKED, n);
    return v;
}

/* Cached results for resources and scopes are kept as long as the tables are the same. */
static bool keep_verdicts(struct sf_column_filter *f, uint64_t tables, uint32_t n)
{
    if (f->tables == tables)
        return true;
    if (n > f->n_verdicts) {
        uint32_t cap = n > f->n_verdicts * 2 ? n : f->n_verdicts * 2;
        uint8_t *more = sf_arena_raw(f->req, cap, 1);
        if (!more)
            return false;
        f->verdicts = more;
        f->n_verdicts = cap;
    }
    memset(f->verdicts, NOT_ASKED, n);
    f->tables = tables;
    return true;
}

static uint8_t table_verdict(struct sf_column_filter *f, struct sf_column_batch *b, uint32_t place)
{
    if (f->verdicts[place] == NOT_ASKED) {
        b->span = (struct sf_span){.resource = f->kind == SCOPE ? 0 : place,
                                   .scope = f->kind == SCOPE ? place : 0};
        f->verdicts[place] = column_filter_holds(f, b);
    }
    return f->verdicts[place];
}

static enum sf_err run_table(struct sf_column_filter *f, struct sf_column_batch *b, uint8_t *mask,
                             struct sf_why *why)
{
    bool is_scope = f->kind == SCOPE;
    const struct sf_span_rows *rows = &b->cols->rows;
    const uint32_t *place;
    enum sf_err err = b->cols->add(b->cols, is_scope ? SF_COL_SCOPE : SF_COL_RESOURCE, why);
    if (err)
        return err;
    if (!keep_verdicts(f, b->cols->tables, is_scope ? rows->n_scopes : rows->n_resources))
        return sf_no_room(why, "the query");
    place = is_scope ? rows->scope : rows->resource;
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        uint8_t v = f->verdicts[place[i]];
        if (v == NOT_ASKED)
            v = table_verdict(f, b, place[i]);
        mask[i] &= v;
    }
    return SF_OK;
}

static uint8_t text_verdict(struct sf_column_filter *f, struct sf_column_batch *b, sf_str text)
{
    struct sf_static have = {SF_TYPE_STRING, {.str = text}};
    if (f->is_simple)
        return f->is_mirrored ? sf_expr_fold_compare(f->expr->op, f->literal, have)
                              : sf_expr_fold_compare(f->expr->op, have, f->literal);
    b->span = (struct sf_span){.name = text, .status_msg = text};
    return column_filter_holds(f, b);
}

static enum sf_err run_text(struct sf_column_filter *f, struct sf_column_batch *b, uint8_t *mask,
                            struct sf_why *why)
{
    const struct sf_span_rows *rows = &b->cols->rows;
    const struct sf_str_column *texts = f->kind == NAME ? &rows->name : &rows->status_msg;
    uint8_t *verdicts;
    enum sf_err err = b->cols->add(b->cols, f->kind == NAME ? SF_COL_NAME : SF_COL_STATUS_MSG, why);
    if (err)
        return err;
    verdicts = new_verdicts(b, texts->n_dict);
    if (!verdicts)
        return sf_no_room(why, "the query");
    if (texts->n_dict < rows->n_rows / 8) {
        for (uint32_t k = 0; k < texts->n_dict; k++)
            verdicts[k] = text_verdict(f, b, texts->dict[k]);
        for (uint32_t i = 0; i < rows->n_rows; i++)
            mask[i] &= verdicts[texts->code[i]];
        return SF_OK;
    }
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        uint32_t code = texts->code[i];
        if (!mask[i])
            continue;
        if (verdicts[code] == NOT_ASKED)
            verdicts[code] = text_verdict(f, b, texts->dict[code]);
        mask[i] = verdicts[code];
    }
    return SF_OK;
}

static enum sf_err run_kind(struct sf_column_filter *f, struct sf_column_batch *b, uint8_t *mask,
                            struct sf_why *why)
{
    const struct sf_span_rows *rows = &b->cols->rows;
    uint8_t verdicts[256];
    enum sf_err err = b->cols->add(b->cols, SF_COL_KIND, why);
    memset(verdicts, NOT_ASKED, sizeof(verdicts));
    for (uint32_t i = 0; !err && i < rows->n_rows; i++) {
        uint8_t kind = rows->kind[i], status = rows->status[i], *v;
        uint8_t one = NOT_ASKED;
        /* Numbers without a name are compared one by one. */
        v = kind < 16 && status < 16 ? &verdicts[kind | status << 4] : &one;
        if (*v == NOT_ASKED) {
            b->span = (struct sf_span){.kind = kind, .status = status};
            *v = column_filter_holds(f, b);
        }
        mask[i] &= *v;
    }
    return err;
}

static void compare_durations(enum sf_expr_op op, const uint64_t *ns, uint32_t n, int64_t than,
                              uint8_t *mask)
{
    switch (op) {
    case SF_EXPR_EQ:
        for (uint32_t i = 0; i < n; i++)
            mask[i] &= (int64_t)ns[i] == than;
        break;
    case SF_EXPR_NE:
        for (uint32_t i = 0; i < n; i++)
            mask[i] &= (int64_t)ns[i] != than;
        break;
    case SF_EXPR_LT:
        for (uint32_t i = 0; i < n; i++)
            mask[i] &= (int64_t)ns[i] < than;
        break;
    case SF_EXPR_LE:
        for (uint32_t i = 0; i < n; i++)
            mask[i] &= (int64_t)ns[i] <= than;
        break;
    case SF_EXPR_GT:
        for (uint32_t i = 0; i < n; i++)
            mask[i] &= (int64_t)ns[i] > than;
        break;
    default:
        for (uint32_t i = 0; i < n; i++)
            mask[i] &= (int64_t)ns[i] >= than;
        break;
    }
}

static enum sf_err run_duration(struct sf_column_filter *f, struct sf_column_batch *b,
                                uint8_t *mask, struct sf_why *why)
{
    const struct sf_span_rows *rows = &b->cols->rows;
    enum sf_err err = b->cols->add(b->cols, SF_COL_DURATION, why);
    if (err)
        return err;
    if (f->is_simple && !f->is_mirrored &&
        (f->literal.type == SF_TYPE_INT || f->literal.type == SF_TYPE_DURATION)) {
        compare_durations(f->expr->op, rows->duration_ns, rows->n_rows, f->literal.i64, mask);
        return SF_OK;
    }
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        if (!mask[i])
            continue;
        b->span = (struct sf_span){.end_ns = rows->duration_ns[i]};
        mask[i] = column_filter_holds(f, b);
    }
    return SF_OK;
}

/* ---- attributes of spans ---- */

/* For NaN all three are false. */
static inline bool is_so(enum sf_expr_op op, bool is_less, bool is_equal, bool is_greater)
{
    switch (op) {
    case SF_EXPR_EQ: return is_equal;
    case SF_EXPR_NE: return !is_equal;
    case SF_EXPR_LT: return is_less;
    case SF_EXPR_LE: return is_less | is_equal;
    case SF_EXPR_GT: return is_greater;
    default: return is_greater | is_equal;
    }
}

static bool column_filter_is_scalar(struct sf_value v)
{
    return v.type >= SF_VALUE_STR && v.type <= SF_VALUE_DOUBLE;
}

/* A span without a visible value of the attribute has that of its resource. */
static bool any_holds(struct sf_column_filter *f, struct sf_column_batch *b, struct sf_value v,
                      uint32_t resource)
{
    if (v.type == SF_VALUE_NONE)
        return table_verdict(f, b, resource);
    b->attrs[0] = (struct sf_attr){f->needs.names[0], v};
    b->span = (struct sf_span){.resource = resource, .attrs = {b->attrs, 1}};
    return column_filter_holds(f, b);
}

static bool are_all(const struct sf_value_column *column, enum sf_value_type type)
{
    unsigned others = 0;
    for (uint32_t k = 0; k < column->n_vals; k++)
        others |= (unsigned)column->vals[k].type ^ (unsigned)type;
    return column->n_vals && !others;
}

/* Fast path for numbers of one type and a literal of that type. */
static bool judge_numbers(const struct sf_column_filter *f, const struct sf_value_column *column,
                          uint8_t *verdicts)
{
    const struct sf_value *vals = column->vals;
    bool is_whole = f->literal.type == SF_TYPE_INT || f->literal.type == SF_TYPE_DURATION;
    int64_t whole = is_whole ? f->literal.i64 : 0;
    double than;
    if (f->is_mirrored || (!is_whole && f->literal.type != SF_TYPE_FLOAT))
        return false;
    than = sf_expr_fold_number(f->literal);
    if (are_all(column, SF_VALUE_DOUBLE)) {
        for (uint32_t k = 0; k < column->n_vals; k++)
            verdicts[k] = is_so(f->expr->op, than > vals[k].f64, vals[k].f64 == than,
                                vals[k].f64 > than);
        return true;
    }
    if (!is_whole || !are_all(column, SF_VALUE_INT))
        return false;
    for (uint32_t k = 0; k < column->n_vals; k++)
        verdicts[k] = is_so(f->expr->op, whole > vals[k].i64, vals[k].i64 == whole,
                            vals[k].i64 > whole);
    return true;
}

/* Evaluates every value, even if no row has it: for conditions that are fast to evaluate. */
static bool judge_values(struct sf_column_filter *f, struct sf_column_batch *b,
                         const struct sf_value_column *column, uint8_t *verdicts)
{
    if (!f->is_simple)
        return false;
    if (judge_numbers(f, column, verdicts))
        return true;
    if (column->n_vals >= b->cols->rows.n_rows / 8)
        return false;
    for (uint32_t k = 0; k < column->n_vals; k++)
        verdicts[k] = value_holds(f, b, column->vals[k]);
    return true;
}

/* Are the texts contiguous in memory? They mostly are, as stored. */
static bool are_joined(const struct sf_value_column *column)
{
    for (uint32_t k = 0; k < column->n_vals; k++) {
        const struct sf_value *v = &column->vals[k];
        if (v->type != SF_VALUE_STR || (k && v[-1].str.p + v[-1].str.len != v->str.p))
            return false;
    }
    return column->n_vals > 0;
}

/* Excludes texts without the characters that the pattern requires, by searching these in the whole
 * column. False: some texts are left to evaluate. */
static bool rule_out_texts(struct sf_column_filter *f, const struct sf_value_column *column,
                           uint8_t *verdicts)
{
    sf_str needs = sf_eval_pattern_needs(f->eval, f->expr);
    const struct sf_value *vals = column->vals;
    const char *at, *end;
    uint32_t k = 0, n_left = 0;
    if (!needs.len || !are_joined(column))
        return false;
    at = vals[0].str.p;
    end = vals[column->n_vals - 1].str.p + vals[column->n_vals - 1].str.len;
    memset(verdicts, f->expr->op == SF_EXPR_NO_MATCH, column->n_vals);
    while ((at = memmem(at, (size_t)(end - at), needs.p, needs.len))) {
        while (vals[k].str.p + vals[k].str.len <= at)
            k++;
        /* Also if the match spans the end of one text and the start of the next. */
        verdicts[k] = NOT_ASKED;
        at = vals[k].str.p + vals[k].str.len;
        n_left++;
        if (at == end)
            break;
    }
    return n_left == 0;
}

static enum sf_err run_span(struct sf_column_filter *f, struct sf_column_batch *b, uint8_t *mask,
                            struct sf_why *why)
{
    const struct sf_span_rows *rows = &b->cols->rows;
    static const struct sf_value none;
    struct sf_value_column column;
    uint8_t *verdicts, missing = NOT_ASKED;
    bool is_any = f->kind == ANY;
    enum sf_err err = sf_column_batch_value(b, f->needs.names[0], &column, why);
    if (!err && is_any)
        err = b->cols->add(b->cols, SF_COL_RESOURCE, why);
    if (err)
        return err;
    verdicts = new_verdicts(b, column.n_vals + 1);
    if (!verdicts || (is_any && !keep_verdicts(f, b->cols->tables, rows->n_resources)))
        return sf_no_room(why, "the query");
    if (!is_any && judge_values(f, b, &column, verdicts + 1)) {
        verdicts[0] = value_holds(f, b, none);
        for (uint32_t i = 0; i < rows->n_rows; i++)
            mask[i] &= verdicts[column.code[i] + 1]; /* SF_NONE becomes 0 */
        return SF_OK;
    }
    if (f->is_pattern && rule_out_texts(f, &column, verdicts) && !is_any &&
        f->expr->op == SF_EXPR_MATCH) {
        memset(mask, 0, rows->n_rows); /* a missing value does not match either */
        return SF_OK;
    }
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        uint32_t code = column.code[i];
        bool has = code != SF_NONE;
        if (!mask[i])
            continue;
        if (is_any && (!has || !column_filter_is_scalar(column.vals[code]))) {
            mask[i] = any_holds(f, b, has ? column.vals[code] : none, rows->resource[i]);
            continue;
        }
        if (!has) {
            missing = missing == NOT_ASKED ? value_holds(f, b, none) : missing;
            mask[i] = missing;
            continue;
        }
        if (verdicts[code] == NOT_ASKED)
            verdicts[code] = value_holds(f, b, column.vals[code]);
        mask[i] = verdicts[code];
    }
    return SF_OK;
}

static enum sf_err run_rows(struct sf_column_filter *f, struct sf_column_batch *b, uint8_t *mask,
                            struct sf_why *why)
{
    enum sf_err err = sf_column_batch_add(b, &f->needs, why);
    for (uint32_t i = 0; !err && i < b->cols->rows.n_rows; i++) {
        if (!mask[i])
            continue;
        sf_column_batch_take(b, &f->needs, i);
        mask[i] = column_filter_holds(f, b);
    }
    return err;
}

/* Samples may carry the id of any descendant: it is enough that the trace has such a span, which is
 * known only for traces that are completely in this granule. */
static enum sf_err run_profile(struct sf_column_filter *f, struct sf_column_batch *b, uint8_t *mask,
                               struct sf_why *why)
{
    struct sf_span_columns *c = b->cols;
    enum sf_err err = c->add(c, SF_COL_TRACES | SF_COL_IDS, why);
    for (uint32_t t = 0; !err && c->is_parted && t < c->n_traces; t++) {
        uint32_t first = c->firsts[t], n = c->firsts[t + 1] - first, i = 0;
        if (c->is_parted[t] || !memchr(mask + first, 1, n))
            continue;
        while (i < n && !sf_profile_conds_has(sf_eval_profiles(f->eval), f->expr,
                                              c->rows.span_id[first + i]))
            i++;
        if (i == n)
            memset(mask + first, 0, n);
    }
    return err;
}

static void run_constant(struct sf_column_filter *f, struct sf_column_batch *b, uint8_t *mask)
{
    b->span = (struct sf_span){0};
    if (!column_filter_holds(f, b))
        memset(mask, 0, b->cols->rows.n_rows);
}

/* ---- parts ---- */

static enum sf_err column_filter_run(struct sf_column_filter *f, struct sf_column_batch *b,
                                     uint8_t *mask, struct sf_why *why);

static enum sf_err run_and(struct sf_column_filter *f, struct sf_column_batch *b, uint8_t *mask,
                           struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < f->n_parts; i++) {
        if (i > 0 && !memchr(mask, 1, b->cols->rows.n_rows))
            break;
        err = column_filter_run(f->parts[i], b, mask, why);
    }
    return err;
}

static enum sf_err run_or(struct sf_column_filter *f, struct sf_column_batch *b, uint8_t *mask,
                          struct sf_why *why)
{
    uint32_t n = b->cols->rows.n_rows;
    uint8_t *left = sf_arena_raw(b->cols->scratch, n, 1),
            *one = sf_arena_raw(b->cols->scratch, n, 1);
    enum sf_err err = SF_OK;
    if (!left || !one)
        return sf_no_room(why, "the query");
    memcpy(left, mask, n); /* rows that no part has matched */
    for (uint32_t i = 0; !err && i < f->n_parts && memchr(left, 1, n); i++) {
        memcpy(one, left, n);
        err = column_filter_run(f->parts[i], b, one, why);
        for (uint32_t k = 0; k < n; k++)
            left[k] ^= one[k];
    }
    for (uint32_t k = 0; k < n; k++)
        mask[k] ^= left[k];
    return err;
}

static enum sf_err column_filter_run(struct sf_column_filter *f, struct sf_column_batch *b,
                                     uint8_t *mask, struct sf_why *why)
{
    switch (f->kind) {
    case KIND: return run_kind(f, b, mask, why);
    case RESOURCE:
    case SCOPE: return run_table(f, b, mask, why);
    case NAME:
    case STATUS_MSG: return run_text(f, b, mask, why);
    case DURATION: return run_duration(f, b, mask, why);
    case SPAN:
    case ANY: return run_span(f, b, mask, why);
    case ROW: return run_rows(f, b, mask, why);
    case PROFILE: return run_profile(f, b, mask, why);
    case AND: return run_and(f, b, mask, why);
    case OR: return run_or(f, b, mask, why);
    case CONSTANT: run_constant(f, b, mask); return SF_OK;
    case ALWAYS:
    case UNKNOWN: break;
    }
    return SF_OK;
}

enum sf_err sf_column_filter_run(struct sf_column_filter *f, struct sf_column_batch *b,
                                 uint8_t *mask, struct sf_why *why)
{
    enum sf_err err = column_filter_run(f, b, mask, why);
    return err ? err : sf_eval_fault(f->eval, why);
}
