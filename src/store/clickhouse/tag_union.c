/* tag_union.c - attribute names and values of all nodes. Attributes of spans are in arrays,
 * which the shards count. Those of resources, scopes, events and links are in the form of the
 * log (span_rows.c): the shards count the rows that refer to an entry, and the node decodes the
 * entry. */
#include "store/clickhouse/tag_union.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/table.h"
#include "model/batch_codec.h"
#include "store/clickhouse/cond_sql.h"
#include "store/clickhouse/span_answer.h"
#include "wire/row_binary.h"

enum {
    ANSWER_LEN = 64 << 20,
    SET_CAP = 128 << 20,
    BODY_CAP = 16 << 20, /* of one resource, scope or span to decode */
    MAX_BODIES = 20000,  /* of a shard */
    MAX_VALUES = 320000, /* likewise */
    FEW_VALUES = 2000,
    FIRST = 256,
};

struct entry {
    struct sf_value val;
    uint64_t n_own;    /* rows of this node, as counted by its own store, */
    uint64_t n_mine;   /* as counted by the shards, */
    uint64_t n_others; /* and rows of other nodes */
};

struct cursor {
    struct sf_str_cursor base;
    struct sf_arena arena; /* of the values */
    struct entry *entries;
    uint32_t n, cap, at;
    struct sf_table set;
};

struct joining {
    const struct sf_remote_source *r;
    const struct sf_tag_query *query;
    struct sf_query_ctx *q;
    struct cursor *c;
    struct sf_arena bodies;
    struct sf_why *why;
};

/* ---- the set ---- */

static enum sf_err tag_union_add(struct joining *j, const struct entry *more)
{
    struct cursor *c = j->c;
    struct entry *e = NULL;
    struct sf_value v = more->val;
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!sf_list_room(&c->entries, c->n, &c->cap, FIRST) || !sf_table_more(&c->set))
        return sf_no_memory(j->why, "tags");
    lookup = sf_table_lookup(&c->set, sf_value_hash(v));
    while (!e && sf_table_next(&lookup, &at)) {
        if (sf_value_eq(c->entries[at].val, v))
            e = &c->entries[at];
    }
    if (!e && j->query->limit && c->n >= j->query->limit) {
        c->base.has_more = true;
        return SF_OK;
    }
    if (!e) {
        if ((v.type == SF_VALUE_STR || v.type >= SF_VALUE_BYTES) &&
            !sf_arena_copy(&c->arena, v.str, &v.str))
            return sf_fail(j->why, SF_ERR_LIMIT,
                           "query: too many tag values; narrow the time range");
        sf_table_keep(&c->set, &lookup, c->n);
        e = &c->entries[c->n++];
        *e = (struct entry){.val = v};
    }
    e->n_own += more->n_own;
    e->n_mine += more->n_mine;
    e->n_others += more->n_others;
    return SF_OK;
}

static bool tag_union_wants_names(const struct joining *j)
{
    return j->query->name.len == 0;
}

static enum sf_err tag_union_add_attrs(struct joining *j, struct sf_attrs attrs, struct entry count)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < attrs.n; i++) {
        const struct sf_attr *a = &attrs.list[i];
        if (!tag_union_wants_names(j) && !sf_str_eq(a->key, j->query->name))
            continue;
        count.val = tag_union_wants_names(j)
                        ? (struct sf_value){.type = SF_VALUE_STR, .str = a->key}
                        : a->val;
        err = tag_union_add(j, &count);
    }
    return err;
}

/* ---- queries ---- */

/* The most frequent values over all shards need not be so on each shard: request more. */
static uint32_t most_of(const struct joining *j)
{
    uint32_t most = j->query->enough ? j->query->enough : j->query->limit;
    most = most && most < MAX_VALUES ? most : MAX_VALUES;
    return most > FEW_VALUES ? most : FEW_VALUES;
}

static void tag_union_put_counts(const struct joining *j, struct sf_buf *sql)
{
    sf_buf_print(sql, "toUInt64(countIf(");
    sf_remote_source_mine(j->r, sql);
    sf_buf_print(sql, ")) AS mine, toUInt64(count()) - mine AS others FROM %s.spans WHERE ",
                 j->r->database);
}

static void tag_union_put_where(const struct joining *j, struct sf_buf *sql)
{
    const struct sf_tag_query *t = j->query;
    struct sf_span_query query = {.from_ns = t->from_ns,
                                  .to_ns = t->from_ns && !t->to_ns ? INT64_MAX : t->to_ns,
                                  .conds = t->conds,
                                  .n_conds = t->n_conds,
                                  .is_all = true};
    sf_remote_source_tenants(j->r, j->q, sql);
    sf_cond_sql_where(j->r, &query, j->q, sql);
}

/* Selects names, in the column for text values, with their counts. */
static void put_span_names(const struct joining *j, struct sf_buf *sql)
{
    sf_buf_print(sql, "SELECT toUInt8(0), toString(arrayJoin(arrayConcat(sk, ik, dk, xk))) AS k, "
                      "toInt64(0), toFloat64(0), ");
    tag_union_put_counts(j, sql);
    tag_union_put_where(j, sql);
    sf_buf_print(sql, " GROUP BY k ORDER BY mine + others DESC, k LIMIT %" PRIu32, most_of(j) + 1);
}

/* Selects the names of spans, in the same columns. */
static void put_operations(const struct joining *j, struct sf_buf *sql)
{
    sf_buf_print(sql, "SELECT toUInt8(0), toString(name), toInt64(0), toFloat64(0), ");
    tag_union_put_counts(j, sql);
    tag_union_put_where(j, sql);
    sf_buf_print(sql, " GROUP BY name ORDER BY mine + others DESC, name LIMIT %" PRIu32,
                 most_of(j) + 1);
}

/* If a key occurs twice, its last value is used (model/value.h), as in the local store. */
static void put_span_values(const struct joining *j, struct sf_buf *sql)
{
    static const struct {
        const char *keys, *text, *integer, *real;
    } types[] = {{"sk", "sv[v_at]", "toInt64(0)", "toFloat64(0)"},
                 {"ik", "''", "iv[v_at]", "toFloat64(0)"},
                 {"dk", "''", "toInt64(0)", "dv[v_at]"},
                 {"xk", "xv[v_at]", "toInt64(0)", "toFloat64(0)"}};
    for (unsigned i = 0; i < 4; i++) {
        sf_buf_print(sql,
                     "%sSELECT toUInt8(%u) AS t, v_text, v_integer, v_real, mine, others FROM "
                     "(SELECT length(%s) + 1 - indexOf(arrayReverse(%s), ",
                     i ? " UNION ALL " : "", i, types[i].keys, types[i].keys);
        sf_remote_source_quote(sql, j->query->name);
        sf_buf_print(sql, ") AS v_at, %s AS v_text, %s AS v_integer, %s AS v_real, ", types[i].text,
                     types[i].integer, types[i].real);
        tag_union_put_counts(j, sql);
        tag_union_put_where(j, sql);
        sf_buf_print(sql, " AND has(%s, ", types[i].keys);
        sf_remote_source_quote(sql, j->query->name);
        sf_buf_print(sql,
                     ") GROUP BY v_text, v_integer, v_real, v_at ORDER BY mine + others DESC, "
                     "v_text, v_integer LIMIT %" PRIu32 ")",
                     most_of(j) + 1);
    }
}

static void put_bodies(const struct joining *j, struct sf_buf *sql)
{
    const char *what = j->query->scope == SF_SCOPE_RESOURCE ? "resource" : "scope";
    sf_buf_print(sql, "SELECT body, mine, others FROM (SELECT %s, ", what);
    tag_union_put_counts(j, sql);
    tag_union_put_where(j, sql);
    sf_buf_print(sql,
                 " GROUP BY %s) AS a ANY INNER JOIN (SELECT %s, any(body) AS body FROM %s.%ss "
                 "WHERE ",
                 what, what, j->r->database, what);
    sf_remote_source_tenants(j->r, j->q, sql);
    sf_buf_print(sql, " GROUP BY %s) AS b USING (%s) ORDER BY mine + others DESC LIMIT %d", what,
                 what, MAX_BODIES + 1);
}

static void put_rests(const struct joining *j, struct sf_buf *sql)
{
    sf_buf_print(sql, "SELECT rest AS body, ");
    tag_union_put_counts(j, sql);
    tag_union_put_where(j, sql);
    sf_buf_print(sql, " AND rest != '' GROUP BY body LIMIT %d", MAX_BODIES + 1);
}

/* ---- answers ---- */

static bool tag_union_take_value(struct sf_row_reader *r, bool is_name, struct sf_value *out)
{
    uint8_t type = sf_row_binary_u8(r);
    sf_str text = sf_row_binary_str(r);
    int64_t integer = (int64_t)sf_row_binary_u64(r);
    double real = sf_row_binary_f64(r);
    const char *fault = "an unknown type of value";
    bool is_good = true;
    switch (type) {
    case 0: *out = (struct sf_value){.type = SF_VALUE_STR, .str = text}; break;
    case 1: *out = (struct sf_value){.type = SF_VALUE_INT, .i64 = integer}; break;
    case 2: *out = (struct sf_value){.type = SF_VALUE_DOUBLE, .f64 = real}; break;
    case 3: is_good = sf_span_answer_other(text, out, &fault); break;
    default: is_good = false;
    }
    if (is_name && type != 0)
        is_good = false;
    if (!is_good && !r->fault)
        r->fault = fault;
    return !r->fault;
}

static enum sf_err tag_union_take_values(struct joining *j, sf_bytes in)
{
    struct sf_row_reader r = sf_row_reader_init(in);
    enum sf_err err = SF_OK;
    uint32_t n = 0;
    while (!err && sf_row_more(&r)) {
        struct entry e = {0};
        if (!tag_union_take_value(&r, tag_union_wants_names(j), &e.val))
            break;
        e.n_mine = sf_row_binary_u64(&r);
        e.n_others = sf_row_binary_u64(&r);
        if (!r.fault)
            err = tag_union_add(j, &e);
        n++;
    }
    if (n > most_of(j))
        j->c->base.has_more = true;
    return err ? err : sf_row_binary_check(&r, j->why);
}

static enum sf_err look_into(struct joining *j, sf_str body, struct entry count)
{
    struct sf_span_batch b;
    enum sf_err err;
    sf_arena_reset(&j->bodies);
    err = sf_batch_codec_decode(sf_str_bytes(body), &j->bodies, &b, j->why);
    for (uint32_t i = 0; !err && i < b.n_resources && j->query->scope == SF_SCOPE_RESOURCE; i++)
        err = tag_union_add_attrs(j, b.resources[i].attrs, count);
    for (uint32_t i = 0; !err && i < b.n_scopes && j->query->scope == SF_SCOPE_INSTRUMENTATION; i++)
        err = tag_union_add_attrs(j, b.scopes[i].attrs, count);
    for (uint32_t i = 0; !err && i < b.n_spans; i++) {
        const struct sf_span *s = &b.spans[i];
        for (uint32_t k = 0; !err && k < s->n_events && j->query->scope == SF_SCOPE_EVENT; k++)
            err = tag_union_add_attrs(j, s->events[k].attrs, count);
        for (uint32_t k = 0; !err && k < s->n_links && j->query->scope == SF_SCOPE_LINK; k++)
            err = tag_union_add_attrs(j, s->links[k].attrs, count);
    }
    return err;
}

static enum sf_err take_bodies(struct joining *j, sf_bytes in)
{
    struct sf_row_reader r = sf_row_reader_init(in);
    enum sf_err err = SF_OK;
    uint32_t n = 0;
    while (!err && sf_row_more(&r)) {
        sf_str body = sf_row_binary_str(&r);
        struct entry count = {.n_mine = sf_row_binary_u64(&r)};
        count.n_others = sf_row_binary_u64(&r);
        if (!r.fault)
            err = look_into(j, body, count);
        n++;
    }
    if (n > MAX_BODIES)
        j->c->base.has_more = true;
    return err ? err : sf_row_binary_check(&r, j->why);
}

static enum sf_err tag_union_ask(struct joining *j)
{
    struct sf_remote_query *list = sf_remote_source_queries(j->r, 1, ANSWER_LEN);
    struct sf_buf sql = {0};
    bool is_name = j->query->scope == SF_SCOPE_INTRINSIC,
         has_values = is_name || j->query->scope == SF_SCOPE_SPAN;
    enum sf_err err = list ? SF_OK : sf_no_memory(j->why, "queries to shards");
    if (is_name)
        put_operations(j, &sql);
    else if (has_values && tag_union_wants_names(j))
        put_span_names(j, &sql);
    else if (has_values)
        put_span_values(j, &sql);
    else if (j->query->scope == SF_SCOPE_RESOURCE || j->query->scope == SF_SCOPE_INSTRUMENTATION)
        put_bodies(j, &sql);
    else
        put_rests(j, &sql);
    sf_buf_print(&sql, " FORMAT RowBinary");
    if (list)
        sf_remote_source_ask_each(j->r, j->q, &sql, list);
    for (uint32_t i = 0; !err && i < j->r->n_shards; i++) {
        err = sf_remote_source_result(&list[i], j->why);
        if (!err)
            err = has_values ? tag_union_take_values(j, sf_buf_bytes(&list[i].out))
                             : take_bodies(j, sf_buf_bytes(&list[i].out));
        if (err && sf_remote_source_goes_on(j->r, i, j->q, err))
            err = SF_OK;
    }
    sf_buf_done(&sql);
    sf_remote_source_queries_free(j->r, list, 1);
    return err;
}

/* ---- all ---- */

static enum sf_err tag_union_add_own(struct joining *j)
{
    struct sf_str_cursor *own;
    struct entry e = {0};
    enum sf_err err = j->r->own_ops->span_tags(j->r->store, j->query, j->q, &own, j->why);
    if (err)
        return err;
    while (!err && own->next(own, &e.val)) {
        e.n_own = own->n;
        err = tag_union_add(j, &e);
    }
    if (!err && own->err) {
        err = own->err;
        if (j->why)
            *j->why = own->why;
    }
    j->c->base.has_more = j->c->base.has_more || own->has_more;
    own->close(own);
    return err;
}

static bool tag_union_cursor_next(struct sf_str_cursor *base, struct sf_value *out)
{
    struct cursor *c = (struct cursor *)base;
    const struct entry *e;
    if (c->at >= c->n)
        return false;
    e = &c->entries[c->at++];
    c->base.n = (e->n_own > e->n_mine ? e->n_own : e->n_mine) + e->n_others;
    *out = e->val;
    return true;
}

static void tag_union_cursor_close(struct sf_str_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    if (!c)
        return;
    sf_arena_done(&c->arena);
    sf_heap_free(c->entries);
    sf_table_done(&c->set);
    sf_heap_free(c);
}

static int tag_union_by_value(const void *a, const void *b)
{
    return sf_value_cmp(((const struct entry *)a)->val, ((const struct entry *)b)->val);
}

enum sf_err sf_tag_union_open(const struct sf_remote_source *r, const struct sf_tag_query *query,
                              struct sf_query_ctx *q, struct sf_str_cursor **out,
                              struct sf_why *why)
{
    struct joining j = {.r = r, .query = query, .q = q, .why = why};
    enum sf_err err = SF_OK;
    j.c = sf_heap_new(sizeof(*j.c));
    if (!j.c || !sf_arena_init(&j.c->arena, SET_CAP) || !sf_arena_init(&j.bodies, BODY_CAP))
        err = sf_no_memory(why, "tags");
    if (!err) {
        j.c->base = (struct sf_str_cursor){.next = tag_union_cursor_next,
                                           .close = tag_union_cursor_close};
        err = tag_union_add_own(&j);
    }
    if (!err)
        err = tag_union_ask(&j);
    sf_arena_done(&j.bodies);
    if (err) {
        tag_union_cursor_close(j.c ? &j.c->base : NULL);
        return err;
    }
    if (j.c->n)
        qsort(j.c->entries, j.c->n, sizeof(*j.c->entries), tag_union_by_value);
    *out = &j.c->base;
    return SF_OK;
}
