/* cond_sql.c - conditions of a span query as SQL.
 *
 * The SQL selects all spans that match, and may select more: the node evaluates the query again. A
 * condition that SQL cannot express is left out, or all are when one is enough to match. Conditions
 * on attributes search the arrays of a span's attributes, or the columns of the attribute
 * (attr_columns.h); those on resources select ids of the table `resources` first. */
#include "store/clickhouse/cond_sql.h"

#include <inttypes.h>
#include <math.h>

#include "base/time_unit.h"
#include "model/span.h"
#include "store/clickhouse/attr_columns.h"

/* A span is in the bucket of its start. Spans that began longer than this before the range are not
 * found. */
enum { REACH_S = 86400, BUCKET_S = 300 };

struct writing {
    const struct sf_remote_source *r;
    const struct sf_query_ctx *q;
    struct sf_buf *sql;
};

/* ---- values ---- */

static bool cond_sql_is_number(struct sf_value v)
{
    return v.type == SF_VALUE_INT || (v.type == SF_VALUE_DOUBLE && isfinite(v.f64));
}

static bool are_strings(const struct sf_cond *c)
{
    for (uint32_t i = 0; i < c->n_vals; i++) {
        if (c->vals[i].type != SF_VALUE_STR)
            return false;
    }
    return c->n_vals > 0;
}

static void cond_sql_put_number(struct sf_buf *sql, struct sf_value v)
{
    if (v.type == SF_VALUE_INT)
        sf_buf_print(sql, "toInt64(%" PRId64 ")", v.i64);
    else
        sf_buf_print(sql, "toFloat64(%.17g)", v.f64);
}

static void put_list(struct writing *w, const struct sf_cond *c, const char *more)
{
    for (uint32_t i = 0; i < c->n_vals; i++) {
        if (i)
            sf_buf_add_u8(w->sql, ',');
        sf_remote_source_quote(w->sql, c->vals[i].str);
    }
    sf_buf_print(w->sql, "%s", more);
}

static const char *sign_of(enum sf_op op)
{
    switch (op) {
    case SF_OP_EQ: return "=";
    case SF_OP_LT: return "<";
    case SF_OP_LE: return "<=";
    case SF_OP_GT: return ">";
    case SF_OP_GE: return ">=";
    default: return NULL;
    }
}

/* ---- columns ---- */

static bool cond_sql_put_text(struct writing *w, const struct sf_cond *c, const char *column)
{
    if (c->op != SF_OP_EQ || !are_strings(c))
        return false;
    sf_buf_print(w->sql, "%s IN (", column);
    put_list(w, c, ")");
    return true;
}

/* For an end before the start, the node computes a duration of 0, ClickHouse a negative one. */
static bool put_duration(struct writing *w, const struct sf_cond *c)
{
    const char *sign = sign_of(c->op);
    if (!sign || c->n_vals != 1 || !cond_sql_is_number(c->vals[0]))
        return false;
    sf_buf_print(w->sql, "(duration_ns < 0 OR duration_ns %s ", sign);
    cond_sql_put_number(w->sql, c->vals[0]);
    sf_buf_print(w->sql, ")");
    return true;
}

static bool cond_sql_put_numbers(struct writing *w, const struct sf_cond *c, const char *column)
{
    if (c->op != SF_OP_EQ || !c->n_vals)
        return false;
    for (uint32_t i = 0; i < c->n_vals; i++) {
        if (c->vals[i].type != SF_VALUE_INT || c->vals[i].i64 < 0 || c->vals[i].i64 > UINT8_MAX)
            return false;
    }
    sf_buf_print(w->sql, "%s IN (", column);
    for (uint32_t i = 0; i < c->n_vals; i++)
        sf_buf_print(w->sql, "%s%" PRId64, i ? "," : "", c->vals[i].i64);
    sf_buf_print(w->sql, ")");
    return true;
}

static bool put_intrinsic(struct writing *w, const struct sf_cond *c)
{
    if (sf_str_eq(c->key, SF_STR("name")))
        return cond_sql_put_text(w, c, "name");
    if (sf_str_eq(c->key, SF_STR("statusMessage")))
        return cond_sql_put_text(w, c, "status_message");
    if (sf_str_eq(c->key, SF_STR("duration")))
        return put_duration(w, c);
    if (sf_str_eq(c->key, SF_STR("status")))
        return cond_sql_put_numbers(w, c, "status");
    if (sf_str_eq(c->key, SF_STR("kind")))
        return cond_sql_put_numbers(w, c, "kind");
    return false;
}

/* ---- attributes ---- */

static void put_has(struct writing *w, const char *lists, sf_str key)
{
    const char *joint = "";
    for (; *lists; lists++) {
        sf_buf_print(w->sql, "%shas(%ck, ", joint, *lists);
        sf_remote_source_quote(w->sql, key);
        sf_buf_print(w->sql, ")");
        joint = " OR ";
    }
}

/* Lists and bytes (arrays xk, xv) may contain the value, but SQL does not search in them, so all
 * their spans match. The condition before the AND has the form that the table's index by_value
 * supports; an OR of two lists could not use an index. */
static void put_equal_text(struct writing *w, const struct sf_cond *c)
{
    sf_buf_print(w->sql, "(hasAny(arrayConcat(sv, xk), [");
    put_list(w, c, ",");
    sf_remote_source_quote(w->sql, c->key);
    sf_buf_print(w->sql, "]) AND (arrayExists((k, v) -> k = ");
    sf_remote_source_quote(w->sql, c->key);
    sf_buf_print(w->sql, " AND v IN (");
    put_list(w, c, "), sk, sv) OR ");
    put_has(w, "x", c->key);
    sf_buf_print(w->sql, "))");
}

/* Ordering comparisons with a value that is not a number are evaluated by the node only. */
static void put_number_cond(struct writing *w, const struct sf_cond *c)
{
    static const char *const lists[] = {"i", "d"};
    const char *sign = sign_of(c->op);
    sf_buf_print(w->sql, "(");
    for (size_t i = 0; i < 2; i++) {
        sf_buf_print(w->sql, "arrayExists((k, v) -> k = ");
        sf_remote_source_quote(w->sql, c->key);
        sf_buf_print(w->sql, " AND (v %s ", sign);
        cond_sql_put_number(w->sql, c->vals[0]);
        sf_buf_print(w->sql, "%s), %sk, %sv) OR ", i ? " OR isNaN(v)" : "", lists[i], lists[i]);
    }
    put_has(w, c->op == SF_OP_EQ ? "x" : "sx", c->key);
    sf_buf_print(w->sql, ")");
}

/* The same for an attribute with columns of its own (attr_columns.h). The index is used, and the
 * arrays are not read. */
static void put_own_columns(struct writing *w, const struct sf_cond *c)
{
    struct sf_buf *sql = w->sql;
    bool is_text = c->op == SF_OP_EQ && are_strings(c),
         is_number = sign_of(c->op) && c->n_vals == 1 && cond_sql_is_number(c->vals[0]);
    sf_buf_print(sql, "(");
    if (is_text) {
        sf_buf_print(sql, "indexHint(hasAny(arrayConcat(sv, xk), [");
        put_list(w, c, ",");
        sf_remote_source_quote(sql, c->key);
        sf_buf_print(sql, "])) AND (");
        sf_attr_columns_put(sql, 's', c->key);
        sf_buf_print(sql, " IN (");
        put_list(w, c, ") AND ");
    } else if (is_number) {
        sf_attr_columns_put(sql, 'i', c->key);
        sf_buf_print(sql, " %s ", sign_of(c->op));
        cond_sql_put_number(sql, c->vals[0]);
        sf_buf_print(sql, " AND ");
    }
    sf_attr_columns_put(sql, 't', c->key);
    if (is_text || is_number) {
        sf_buf_print(sql, " = %d OR ", is_text ? SF_ATTR_COLUMNS_TEXT : SF_ATTR_COLUMNS_INT);
        sf_attr_columns_put(sql, 't', c->key);
        if (is_number && c->op != SF_OP_EQ)
            sf_buf_print(sql, " IN (%d, %d)", SF_ATTR_COLUMNS_OTHER, SF_ATTR_COLUMNS_TEXT);
        else
            sf_buf_print(sql, " = %d", SF_ATTR_COLUMNS_OTHER);
    } else {
        sf_buf_print(sql, " != 0");
    }
    sf_buf_print(sql, is_text ? "))" : ")");
}

static void put_span_attr(struct writing *w, const struct sf_cond *c)
{
    if (sf_attr_columns_has(w->r->attributes, w->r->n_shards, c->key)) {
        put_own_columns(w, c);
    } else if (c->op == SF_OP_EQ && are_strings(c)) {
        put_equal_text(w, c);
    } else if (sign_of(c->op) && c->n_vals == 1 && cond_sql_is_number(c->vals[0])) {
        put_number_cond(w, c);
    } else {
        sf_buf_print(w->sql, "(");
        put_has(w, "sidx", c->key);
        sf_buf_print(w->sql, ")");
    }
}

/* The table of resources stores values as text; lists and bytes are stored as empty text. */
static void put_resource_attr(struct writing *w, const struct sf_cond *c)
{
    bool is_text = c->op == SF_OP_EQ && are_strings(c);
    sf_buf_print(w->sql, "(resource IN (SELECT resource FROM %s.resources WHERE ", w->r->database);
    sf_remote_source_tenants(w->r, w->q, w->sql);
    if (is_text) {
        sf_buf_print(w->sql, " AND arrayExists((k, v) -> k = ");
        sf_remote_source_quote(w->sql, c->key);
        sf_buf_print(w->sql, " AND v IN (");
        put_list(w, c, ",''), keys, vals))");
    } else {
        sf_buf_print(w->sql, " AND has(keys, ");
        sf_remote_source_quote(w->sql, c->key);
        sf_buf_print(w->sql, "))");
    }
    if (sf_str_eq(c->key, SF_STR("service.name"))) {
        sf_buf_print(w->sql, " OR ");
        if (!is_text || !cond_sql_put_text(w, c, "service"))
            sf_buf_print(w->sql, "1");
    }
    sf_buf_print(w->sql, ")");
}

/* Nearly always the service name is that of the resource: the column is enough to exclude rows. */
static bool put_service(struct writing *w, const struct sf_cond *c)
{
    if (!sf_str_eq(c->key, SF_STR("service.name")))
        return false;
    return cond_sql_put_text(w, c, "service");
}

static bool put_cond(struct writing *w, const struct sf_cond *c)
{
    if (c->op != SF_OP_EXISTS && !sign_of(c->op))
        return false; /* also true for spans without the attribute */
    if (c->op != SF_OP_EXISTS && !c->n_vals)
        return false;
    for (uint32_t i = 0; i < c->n_vals; i++) {
        if (c->vals[i].type == SF_VALUE_NONE || c->vals[i].type == SF_VALUE_EMPTY)
            return false;
    }
    switch (c->scope) {
    case SF_SCOPE_INTRINSIC: return put_intrinsic(w, c);
    case SF_SCOPE_SPAN: put_span_attr(w, c); return true;
    case SF_SCOPE_RESOURCE:
        if (!put_service(w, c))
            put_resource_attr(w, c);
        return true;
    case SF_SCOPE_ANY:
        sf_buf_print(w->sql, "(");
        put_span_attr(w, c);
        sf_buf_print(w->sql, " OR ");
        put_resource_attr(w, c);
        sf_buf_print(w->sql, ")");
        return true;
    default: return false;
    }
}

/* ---- all ---- */

static void put_conds(struct writing *w, const struct sf_cond *conds, size_t n, bool is_all)
{
    struct sf_buf list = {0}, *sql = w->sql;
    size_t n_put = 0;
    w->sql = &list;
    for (size_t i = 0; i < n; i++) {
        size_t before = list.len;
        sf_buf_print(&list, "%s", n_put ? is_all ? " AND " : " OR " : "");
        if (put_cond(w, &conds[i]))
            n_put++;
        else
            list.len = before;
    }
    w->sql = sql;
    if (n_put && (is_all || n_put == n)) {
        sf_buf_print(sql, " AND (");
        sf_buf_add_str(sql, sf_buf_str(&list));
        sf_buf_print(sql, ")");
    }
    if (list.err && !sql->err)
        sql->err = list.err;
    sf_buf_done(&list);
}

static void cond_sql_put_times(struct sf_buf *sql, int64_t from_ns, int64_t to_ns)
{
    int64_t from_s = from_ns / SF_NS_PER_S;
    if (from_ns == 0 && to_ns == 0)
        return;
    if (to_ns >= 0 && to_ns < INT64_MAX)
        sf_buf_print(
            sql, " AND bucket <= %" PRIu32 " AND start_ns <= %" PRId64,
            to_ns / SF_NS_PER_S > UINT32_MAX ? UINT32_MAX : (uint32_t)(to_ns / SF_NS_PER_S), to_ns);
    if (from_s > REACH_S + BUCKET_S)
        sf_buf_print(sql, " AND bucket >= %" PRId64, from_s - REACH_S - BUCKET_S);
    if (from_ns > 0)
        sf_buf_print(sql,
                     " AND (start_ns >= %" PRId64
                     " OR start_ns + toUInt64(greatest(duration_ns, 0)) >= %" PRId64 ")",
                     from_ns, from_ns);
}

void sf_cond_sql_where(const struct sf_remote_source *r, const struct sf_span_query *query,
                       const struct sf_query_ctx *q, struct sf_buf *sql)
{
    struct writing w = {.r = r, .q = q, .sql = sql};
    cond_sql_put_times(sql, query->from_ns, query->to_ns);
    put_conds(&w, query->conds, query->n_conds, query->is_all);
}
