/* group_sql.c - the statement that counts spans in a shard.
 *
 * It groups by what the query reads of a span: step of the start, resource, name, values of
 * attributes, ... and takes one span of each group, so that the answer has the form of rows of
 * spans (span_answer.h) with more columns. A value of an attribute is a text: a letter for its
 * type, then the value, numbers as their bytes (s text, i integer, d double, x any other). Of the
 * measured attribute only type and power of two distinguish groups. */
#include "store/clickhouse/group_sql.h"

#include <inttypes.h>

#include "base/time_unit.h"
#include "model/span_rows.h"
#include "store/clickhouse/attr_columns.h"
#include "store/clickhouse/cond_sql.h"
#include "store/local/local.h"

enum { BUCKET_S = 300 };

struct asking_groups {
    const struct sf_remote_source *r;
    const struct sf_span_query *query;
    const struct sf_span_grouping *g;
    const struct sf_trace_set *whole;
    struct sf_buf *sql;
};

/* The first value of an attribute in the order of span_rows.c: by type. */
static void put_first_of(struct sf_buf *sql, char list, sf_str key)
{
    sf_buf_print(sql, "%cv[indexOf(%ck, ", list, list);
    sf_remote_source_quote(sql, key);
    sf_buf_print(sql, ")]");
}

static void put_has_in(struct sf_buf *sql, char list, sf_str key)
{
    sf_buf_print(sql, "has(%ck, ", list);
    sf_remote_source_quote(sql, key);
    sf_buf_print(sql, ")");
}

static void put_arrays_value(struct sf_buf *sql, sf_str key)
{
    static const struct {
        char list;
        const char *before, *after;
    } kinds[] = {{'s', "concat('s', ", ")"},
                 {'i', "concat('i', reinterpretAsString(", "))"},
                 {'d', "concat('d', reinterpretAsString(", "))"},
                 {'x', "concat('x', ", ")"}};
    sf_buf_print(sql, "multiIf(");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        put_has_in(sql, kinds[i].list, key);
        sf_buf_print(sql, ", %s", kinds[i].before);
        put_first_of(sql, kinds[i].list, key);
        sf_buf_print(sql, "%s, ", kinds[i].after);
    }
    sf_buf_print(sql, "'')");
}

static void group_sql_put_value(const struct asking_groups *a, sf_str key)
{
    struct sf_buf *sql = a->sql;
    if (!sf_attr_columns_has(a->r->attributes, a->r->n_shards, key)) {
        put_arrays_value(sql, key);
        return;
    }
    sf_buf_print(sql, "multiIf(");
    sf_attr_columns_put(sql, 't', key);
    sf_buf_print(sql, " = 0, '', ");
    sf_attr_columns_put(sql, 't', key);
    sf_buf_print(sql, " = %d, concat('s', ", SF_ATTR_COLUMNS_TEXT);
    sf_attr_columns_put(sql, 's', key);
    sf_buf_print(sql, "), ");
    sf_attr_columns_put(sql, 't', key);
    sf_buf_print(sql, " = %d, concat('i', reinterpretAsString(", SF_ATTR_COLUMNS_INT);
    sf_attr_columns_put(sql, 'i', key);
    sf_buf_print(sql, ")), ");
    put_arrays_value(sql, key);
    sf_buf_print(sql, ")");
}

/* For an integer above 1 the k of the smallest power of two that is not below it, otherwise 0.
 * log2() may round up or down to a neighbour; the comparisons correct it. */
static void put_power(struct sf_buf *sql, const char *value)
{
    sf_buf_print(sql,
                 "if(%s < 2, toUInt8(0), toUInt8(toUInt8(floor(log2(toUInt64(greatest(%s, 2) - 1)) "
                 "AS log)) + (toUInt64(greatest(%s, 2) - 1) >= bitShiftLeft(toUInt64(1), "
                 "toUInt8(floor(log)))) + (toUInt64(greatest(%s, 2) - 1) >= "
                 "bitShiftLeft(toUInt64(1), toUInt8(floor(log)) + 1))))",
                 value, value, value, value);
}

static bool is_measured(const struct asking_groups *a, sf_str key)
{
    return a->g->measure != SF_MEASURE_NONE && a->g->measured.name.len &&
           sf_str_eq(a->g->measured.name, key);
}

/* The type of the measured attribute, and what else distinguishes groups. */
static void put_measured(const struct asking_groups *a, sf_str key)
{
    struct sf_buf *sql = a->sql, value = {0};
    put_first_of(&value, 'i', key);
    sf_buf_add_u8(&value, 0);
    sf_buf_print(sql, "multiIf(");
    put_has_in(sql, 's', key);
    sf_buf_print(sql, ", 's', ");
    put_has_in(sql, 'i', key);
    if (a->g->measure == SF_MEASURE_POWERS && sf_buf_ok(&value)) {
        sf_buf_print(sql, ", concat('i', char(");
        put_power(sql, (const char *)value.p);
        sf_buf_print(sql, ")), ");
    } else {
        sf_buf_print(sql, ", 'i', ");
    }
    put_has_in(sql, 'd', key);
    sf_buf_print(sql, ", if(isNaN(");
    put_first_of(sql, 'd', key);
    sf_buf_print(sql, "), 'dn', 'd'), ");
    put_has_in(sql, 'x', key);
    sf_buf_print(sql, ", concat('x', ");
    put_first_of(sql, 'x', key);
    sf_buf_print(sql, "), '')");
    if (value.err && !sql->err)
        sql->err = value.err;
    sf_buf_done(&value);
}

/* The measured value as a number, 0 if it is none. */
static void put_measured_number(const struct asking_groups *a)
{
    struct sf_buf *sql = a->sql;
    sf_str key = a->g->measured.name;
    if (!key.len) {
        sf_buf_print(sql, "toInt128(greatest(duration_ns, 0))");
        return;
    }
    sf_buf_print(sql, "multiIf(");
    put_has_in(sql, 's', key);
    sf_buf_print(sql, ", toFloat64(0), ");
    put_has_in(sql, 'i', key);
    sf_buf_print(sql, ", toFloat64(");
    put_first_of(sql, 'i', key);
    sf_buf_print(sql, "), ");
    put_has_in(sql, 'd', key);
    sf_buf_print(sql, ", ");
    put_first_of(sql, 'd', key);
    sf_buf_print(sql, ", toFloat64(0))");
}

static void put_steps(const struct asking_groups *a)
{
    const struct sf_span_grouping *g = a->g;
    if (g->n_steps > 1)
        sf_buf_print(a->sql,
                     ", toUInt32(intDiv(toInt64(start_ns) - %" PRId64 " - 1, %" PRId64
                     ")) AS g_step",
                     g->from_ns, g->step_ns);
    else
        sf_buf_print(a->sql, ", toUInt8(0) AS g_step");
}

static void put_durations(const struct asking_groups *a)
{
    const struct sf_span_grouping *g = a->g;
    sf_buf_print(a->sql, ", toUInt8(0");
    for (uint32_t i = 0; i < g->n_durations; i++)
        sf_buf_print(a->sql,
                     " + (greatest(duration_ns, 0) >= toInt64(%" PRId64
                     ")) + (greatest(duration_ns, 0) > toInt64(%" PRId64 "))",
                     g->durations[i], g->durations[i]);
    sf_buf_print(a->sql, ") AS g_duration, ");
    if (g->measure == SF_MEASURE_POWERS && !g->measured.name.len)
        put_power(a->sql, "duration_ns");
    else
        sf_buf_print(a->sql, "toUInt8(0)");
    sf_buf_print(a->sql, " AS g_power");
}

/* Spans with a number of their own are rows. */
static void put_rows_number(const struct asking_groups *a)
{
    const struct sf_trace_set *w = a->whole;
    int64_t low_s = a->g->from_ns / SF_NS_PER_S - BUCKET_S;
    sf_buf_print(a->sql, ", if(bucket < %" PRIu32,
                 low_s > 0 && low_s < UINT32_MAX ? (uint32_t)low_s : 0);
    for (uint32_t i = 0; i < w->n; i++) {
        sf_str id = {(const char *)w->ids[i].b, sizeof(w->ids[i].b)};
        sf_buf_print(a->sql, i ? "," : " OR trace_id IN (");
        sf_remote_source_quote(a->sql, id);
    }
    /* Copies of a span differ in their ends; which of them counts is decided in the view. */
    sf_buf_print(a->sql,
                 "%s, cityHash64(trace_id, span_id, kind, start_ns, duration_ns), 0) AS g_single",
                 w->n ? ")" : "");
}

/* One span of the group; which one matters only for the least and the largest value. */
static void put_one_span(const struct asking_groups *a)
{
    const struct sf_span_grouping *g = a->g;
    enum sf_span_measure m = g->measure;
    const char *fn = m == SF_MEASURE_LEAST ? "argMin" : m == SF_MEASURE_MOST ? "argMax" : "any";
    sf_buf_print(
        a->sql, ", %s((trace_id, span_id, kind, start_ns, greatest(duration_ns, 0), service, ", fn);
    if (g->measured.name.len) {
        put_first_of(a->sql, 'i', g->measured.name);
        sf_buf_print(a->sql, ", ");
        put_first_of(a->sql, 'd', g->measured.name);
        sf_buf_print(a->sql, ")");
    } else {
        sf_buf_print(a->sql, "toInt64(0), toFloat64(0))");
    }
    if (m == SF_MEASURE_LEAST || m == SF_MEASURE_MOST) {
        sf_buf_print(a->sql, ", ");
        put_measured_number(a);
    }
    sf_buf_print(a->sql, ") AS g_span, toUInt64(count()) AS g_n, ");
    if (m == SF_MEASURE_SUM) {
        sf_buf_print(a->sql, "toFloat64(sum(");
        put_measured_number(a);
        sf_buf_print(a->sql, "))");
    } else {
        sf_buf_print(a->sql, "toFloat64(0)");
    }
    sf_buf_print(a->sql, " AS g_sum");
}

/* Columns that the query reads as they are. */
struct plain {
    uint32_t column;
    const char *name, *absent;
};
static const struct plain plain[] = {{SF_COL_NAME, "name", "''"},
                                     {SF_COL_KIND, "kind", "g_span.3"},
                                     {SF_COL_KIND, "status", "toUInt8(0)"},
                                     {SF_COL_STATUS_MSG, "status_message", "''"},
                                     {SF_COL_RESOURCE, "resource", "toUInt64(0)"},
                                     {SF_COL_SCOPE, "scope", "toUInt64(0)"}};
enum { PLAIN = sizeof(plain) / sizeof(plain[0]) };

static void put_groups(const struct asking_groups *a, const struct sf_query_ctx *q)
{
    const struct sf_span_query *query = a->query;
    const struct sf_span_grouping *g = a->g;
    struct sf_buf *sql = a->sql;
    int64_t to_ns = g->from_ns + (int64_t)g->n_steps * g->step_ns;
    sf_buf_print(sql, "SELECT 1");
    for (size_t i = 0; i < PLAIN; i++) {
        if (query->columns & plain[i].column)
            sf_buf_print(sql, ", %s", plain[i].name);
    }
    for (size_t i = 0; i < query->n_want; i++) {
        sf_str key = query->want_keys[i].name;
        sf_buf_print(sql, ", ");
        if (is_measured(a, key))
            put_measured(a, key);
        else
            group_sql_put_value(a, key);
        sf_buf_print(sql, " AS g_value%zu", i);
    }
    put_steps(a);
    put_durations(a);
    put_rows_number(a);
    put_one_span(a);
    sf_buf_print(sql, " FROM %s.spans WHERE ", a->r->database);
    sf_remote_source_tenants(a->r, q, sql);
    sf_cond_sql_where(a->r, query, q, sql);
    sf_buf_print(sql, " AND start_ns %s %" PRId64 " AND start_ns <= %" PRId64,
                 g->is_closed ? ">=" : ">", g->from_ns > 0 ? g->from_ns : 0, to_ns);
    sf_buf_print(sql, " GROUP BY g_step, g_duration, g_power, g_single");
    for (size_t i = 0; i < PLAIN; i++) {
        if (query->columns & plain[i].column)
            sf_buf_print(sql, ", %s", plain[i].name);
    }
    for (size_t i = 0; i < query->n_want; i++)
        sf_buf_print(sql, ", g_value%zu", i);
    sf_buf_print(sql, " LIMIT %d", SF_GROUP_SQL_MOST);
}

/* The measured attribute as the span has it. */
static void put_back_measured(struct sf_buf *sql, size_t i)
{
    sf_buf_print(sql,
                 ", multiIf(startsWith(g_value%zu, 'i'), concat('i', "
                 "reinterpretAsString(g_span.7)), startsWith(g_value%zu, 'd'), concat('d', "
                 "reinterpretAsString(g_span.8)), g_value%zu)",
                 i, i, i);
}

/* The sum is that of the span's own attribute. */
static void put_sum(const struct asking_groups *a)
{
    struct sf_buf *sql = a->sql;
    bool has_sum = a->g->measure == SF_MEASURE_SUM, is_put = false;
    for (size_t i = 0; has_sum && i < a->query->n_want; i++) {
        if (!is_measured(a, a->query->want_keys[i].name))
            continue;
        sf_buf_print(sql,
                     ", if(g_single = 0 AND (startsWith(g_value%zu, 'i') OR g_value%zu = 'd'), "
                     "g_sum, toFloat64(nan))",
                     i, i);
        is_put = true;
    }
    if (!is_put)
        sf_buf_print(sql,
                     has_sum ? ", if(g_single = 0, g_sum, toFloat64(nan))" : ", toFloat64(nan)");
}

void sf_group_sql_put(const struct sf_remote_source *source, const struct sf_span_query *query,
                      const struct sf_query_ctx *q, const struct sf_trace_set *whole,
                      struct sf_buf *sql)
{
    struct asking_groups a = {source, query, query->grouping, whole, sql};
    sf_str tenant = SF_STR_NONE;
    (void)sf_local_tenant_name(source->store, q->tenants[0], &tenant);
    sf_buf_print(sql, "SELECT ");
    sf_remote_source_quote(sql, tenant);
    sf_buf_print(sql, ", toString(g_span.6), ");
    for (size_t i = 0; i < PLAIN; i++) {
        sf_buf_print(sql, "%s, ",
                     query->columns & plain[i].column ? plain[i].name : plain[i].absent);
        if (i == 0)
            sf_buf_print(sql, "g_span.4, g_span.5, g_span.1, g_span.2, toUInt64(0), ");
    }
    sf_buf_print(sql, "emptyArrayString(), emptyArrayString(), emptyArrayString(), "
                      "emptyArrayInt64(), emptyArrayString(), emptyArrayFloat64(), "
                      "emptyArrayString(), emptyArrayString(), '', toUInt32(0), '', "
                      "emptyArrayUInt64(), emptyArrayString(), ''");
    for (size_t i = 0; i < query->n_want; i++) {
        if (is_measured(&a, query->want_keys[i].name))
            put_back_measured(sql, i);
        else
            sf_buf_print(sql, ", g_value%zu", i);
    }
    sf_buf_print(sql, ", if(g_single = 0, g_n, toUInt64(1))");
    put_sum(&a);
    sf_buf_print(sql, " FROM (");
    put_groups(&a, q);
    sf_buf_print(sql, ") FORMAT RowBinary");
}
