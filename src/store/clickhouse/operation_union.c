#include "store/clickhouse/operation_union.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/num.h"
#include "base/table.h"
#include "base/time_unit.h"
#include "model/span.h"
#include "wire/row_binary.h"

enum { ANSWER_LEN = 64 << 20, BUCKET_S = 300 };

struct joining {
    const struct sf_remote_source *r;
    struct sf_query_ctx *q;
    struct sf_operation_row *rows; /* in the request's arena */
    uint32_t n, cap;
    struct sf_table at;
};

static struct sf_operation_row *operation_union_find(struct joining *j, sf_str service, sf_str name)
{
    struct sf_table_lookup lookup;
    struct sf_operation_row row = {0};
    uint32_t at;
    if (!sf_table_more(&j->at) || !sf_list_room_in(j->q->req, &j->rows, j->n, &j->cap, 64))
        return NULL;
    lookup = sf_table_lookup(&j->at, sf_key_mix(sf_key_str(service), sf_key_str(name)));
    while (sf_table_next(&lookup, &at)) {
        if (sf_str_eq(j->rows[at].service, service) && sf_str_eq(j->rows[at].name, name))
            return &j->rows[at];
    }
    if (!sf_arena_copy(j->q->req, service, &row.service) ||
        !sf_arena_copy(j->q->req, name, &row.name) ||
        !sf_list_room_in(j->q->req, &j->rows, j->n, &j->cap, 64))
        return NULL;
    sf_table_keep(&j->at, &lookup, j->n);
    j->rows[j->n] = row;
    return &j->rows[j->n++];
}

/* ---- the shards' ---- */

/* Buckets as in model/span_rows.h: four for each power of two, ends rounded down. */
static void operation_union_put_question(const struct joining *j, int64_t from_ns, int64_t to_ns,
                                         struct sf_buf *sql)
{
    sf_buf_print(
        sql,
        "SELECT service, name, is_entry, toUInt8(bucket_no), toUInt64(count()), "
        "toUInt64(countIf(status = %d)), toUInt64(sum(ns)) FROM (SELECT service, name, status, "
        "toUInt8(parent_id = 0 OR kind IN (%d, %d) OR bitAnd(flags, 768) = 768) AS is_entry, "
        "toUInt64(greatest(duration_ns, 0)) AS ns, "
        "toUInt8(floor(log2(greatest(intDiv(ns, 1000), 1)))) AS power, if(ns <= 1000, 0, "
        "least(%d, 4 * power + (ns > bitShiftLeft(toUInt64(1000), power)) + "
        "(ns > bitShiftLeft(toUInt64(1189), power)) + (ns > bitShiftLeft(toUInt64(1414), power)) + "
        "(ns > bitShiftLeft(toUInt64(1681), power)))) AS bucket_no FROM %s.spans WHERE ",
        SF_STATUS_ERROR, SF_KIND_SERVER, SF_KIND_CONSUMER, SF_SKETCH_BUCKETS - 1, j->r->database);
    sf_remote_source_tenants(j->r, j->q, sql);
    if (from_ns || to_ns) {
        int64_t from_s = from_ns / SF_NS_PER_S - BUCKET_S, to_s = to_ns / SF_NS_PER_S;
        sf_buf_print(sql, " AND start_ns BETWEEN %" PRId64 " AND %" PRId64,
                     from_ns > 0 ? from_ns : 0, to_ns);
        if (from_s > 0 && from_s < UINT32_MAX &&
            to_s < UINT32_MAX) /* times outside 32 bits are in other buckets */
            sf_buf_print(sql, " AND bucket BETWEEN %" PRId64 " AND %" PRId64, from_s, to_s);
    }
    sf_remote_source_others(j->r, 0, sql);
    sf_buf_print(sql, ") GROUP BY service, name, is_entry, bucket_no FORMAT RowBinary");
}

static void operation_union_add(struct sf_call_count *to, uint8_t bucket, uint64_t n,
                                uint64_t n_errors, uint64_t sum_ns)
{
    uint64_t most = UINT32_MAX - to->buckets[bucket];
    to->n_spans += n;
    to->n_errors += n_errors;
    to->sum_ns = sf_add_sat_u64(to->sum_ns, sum_ns);
    to->buckets[bucket] += (uint32_t)(n < most ? n : most);
}

static enum sf_err operation_union_take(struct joining *j, sf_bytes in, struct sf_why *why)
{
    struct sf_row_reader r = sf_row_reader_init(in);
    while (sf_row_more(&r)) {
        sf_str service = sf_row_binary_str(&r), name = sf_row_binary_str(&r);
        bool is_entry = sf_row_binary_u8(&r) != 0;
        uint8_t bucket = sf_row_binary_u8(&r);
        uint64_t n = sf_row_binary_u64(&r), n_errors = sf_row_binary_u64(&r),
                 sum_ns = sf_row_binary_u64(&r);
        struct sf_operation_row *row;
        if (r.fault)
            break;
        if (bucket >= SF_SKETCH_BUCKETS)
            return sf_fail(why, SF_ERR_CORRUPT, "ClickHouse: an answer with a wrong bucket");
        row = operation_union_find(j, service, name);
        if (!row)
            return sf_no_room(why, "the operations");
        operation_union_add(&row->all, bucket, n, n_errors, sum_ns);
        if (is_entry)
            operation_union_add(&row->entries, bucket, n, n_errors, sum_ns);
    }
    return sf_row_binary_check(&r, why);
}

static enum sf_err operation_union_ask(struct joining *j, int64_t from_ns, int64_t to_ns,
                                       struct sf_why *why)
{
    struct sf_remote_query *list = sf_remote_source_queries(j->r, 1, ANSWER_LEN);
    struct sf_buf sql = {0};
    enum sf_err err = list ? SF_OK : sf_no_memory(why, "queries to shards");
    operation_union_put_question(j, from_ns, to_ns, &sql);
    if (list)
        sf_remote_source_ask_each(j->r, j->q, &sql, list);
    for (uint32_t i = 0; !err && i < j->r->n_shards; i++) {
        err = sf_remote_source_result(&list[i], why);
        if (!err)
            err = operation_union_take(j, sf_buf_bytes(&list[i].out), why);
        if (err && sf_remote_source_goes_on(j->r, i, j->q, err))
            err = SF_OK;
    }
    sf_buf_done(&sql);
    sf_remote_source_queries_free(j->r, list, 1);
    return err;
}

/* ---- all ---- */

static int operation_union_by_name(const void *a, const void *b)
{
    const struct sf_operation_row *x = a, *y = b;
    int order = sf_str_cmp(x->service, y->service);
    return order ? order : sf_str_cmp(x->name, y->name);
}

static enum sf_err operation_union_join(struct joining *j, int64_t from_ns, int64_t to_ns,
                                        struct sf_why *why)
{
    struct sf_operation_rows own;
    enum sf_err err = j->r->own_ops->operations(j->r->store, from_ns, to_ns, j->q, &own, why);
    for (uint32_t i = 0; !err && i < own.n; i++) {
        struct sf_operation_row *row = operation_union_find(j, own.rows[i].service,
                                                            own.rows[i].name);
        if (row)
            *row = own.rows[i];
        else
            err = sf_no_room(why, "the operations");
    }
    return err ? err : operation_union_ask(j, from_ns, to_ns, why);
}

enum sf_err sf_operation_union_read(const struct sf_remote_source *r, int64_t from_ns,
                                    int64_t to_ns, struct sf_query_ctx *q,
                                    struct sf_operation_rows *out, struct sf_why *why)
{
    struct joining j = {.r = r, .q = q};
    enum sf_err err = operation_union_join(&j, from_ns, to_ns, why);
    sf_table_done(&j.at);
    if (err)
        return err;
    if (j.n)
        qsort(j.rows, j.n, sizeof(*j.rows), operation_union_by_name);
    *out = (struct sf_operation_rows){j.rows, j.n};
    return SF_OK;
}
