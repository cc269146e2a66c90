#include "store/clickhouse/remote_source.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/time_unit.h"
#include "model/profile.h"
#include "os/clock.h"
#include "store/clickhouse/answer_memo.h"
#include "store/clickhouse/remote_address.h"
#include "store/clickhouse/shard.h"
#include "store/clickhouse/shard_absence.h"
#include "store/local/local.h"

enum { PROBE_LEN = 64 };

uint32_t sf_remote_source_node(const uint8_t uuid[16])
{
    return (uint32_t)(sf_hash(uuid, 16) >> (64 - SF_BATCH_NODE_BITS));
}

static const uint64_t record_mask = (UINT64_C(1) << SF_BATCH_RECORD_BITS) - 1;

uint64_t sf_remote_source_batch(uint32_t node, int64_t recv_ns, uint64_t first_record)
{
    uint64_t mark = sf_hash_mix(1, (uint64_t)recv_ns) >> 60;
    return (uint64_t)node << (64 - SF_BATCH_NODE_BITS) | mark << SF_BATCH_RECORD_BITS |
           (first_record & record_mask);
}

void sf_remote_source_before(uint32_t node, uint64_t lsn, struct sf_buf *sql)
{
    sf_buf_print(sql,
                 " AND NOT (bitShiftRight(batch, %d) = %" PRIu32 " AND bitAnd(batch, %" PRIu64
                 ") > %" PRIu64 ")",
                 64 - SF_BATCH_NODE_BITS, node, record_mask, lsn);
}

void sf_remote_source_others(const struct sf_remote_source *r, uint64_t lsn, struct sf_buf *sql)
{
    sf_remote_source_before(r->node, lsn, sql);
    if (!lsn && r->has_mover)
        sf_remote_source_before(r->mover, 0, sql);
}

void sf_remote_source_mine(const struct sf_remote_source *r, struct sf_buf *sql)
{
    sf_buf_print(sql, "bitShiftRight(batch, %d) IN (%" PRIu32 ", %" PRIu32 ")",
                 64 - SF_BATCH_NODE_BITS, r->node, r->has_mover ? r->mover : r->node);
}

void sf_remote_source_quote(struct sf_buf *sql, sf_str text)
{
    sf_buf_add_u8(sql, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] == '\'' || text.p[i] == '\\')
            sf_buf_add_u8(sql, '\\');
        sf_buf_add_u8(sql, (uint8_t)text.p[i]);
    }
    sf_buf_add_u8(sql, '\'');
}

void sf_remote_source_put_id(struct sf_buf *sql, sf_trace_id id)
{
    sf_buf_add_u8(sql, '\'');
    for (size_t i = 0; i < sizeof(id.b); i++)
        sf_buf_print(sql, "\\x%02X", id.b[i]);
    sf_buf_add_u8(sql, '\'');
}

void sf_remote_source_tenants(const struct sf_remote_source *r, const struct sf_query_ctx *q,
                              struct sf_buf *sql)
{
    sf_str name;
    sf_buf_print(sql, "tenant IN (");
    for (size_t i = 0; i < q->n_tenants; i++) {
        if (i)
            sf_buf_add_u8(sql, ',');
        if (sf_local_tenant_name(r->store, q->tenants[i], &name))
            sf_remote_source_quote(sql, name);
        else
            sf_buf_print(sql, "''");
    }
    sf_buf_print(sql, ")");
}

uint32_t sf_remote_source_tenant(const struct sf_remote_source *r, const struct sf_query_ctx *q,
                                 sf_str name)
{
    for (size_t i = 0; i < q->n_tenants; i++) {
        sf_str own;
        if (sf_local_tenant_name(r->store, q->tenants[i], &own) && sf_str_eq(name, own))
            return q->tenants[i];
    }
    return SF_NONE;
}

/* ---- a round of queries ---- */

struct sf_remote_query *sf_remote_source_queries(const struct sf_remote_source *r, uint32_t n_kinds,
                                                 size_t max_len)
{
    size_t n = (size_t)n_kinds * r->n_shards;
    struct sf_remote_query *list = sf_heap_new_n(n, sizeof(*list));
    for (size_t i = 0; list && i < n; i++) {
        list[i].shard = (uint32_t)(i % r->n_shards);
        list[i].out.max = max_len;
    }
    return list;
}

void sf_remote_source_queries_free(const struct sf_remote_source *r, struct sf_remote_query *list,
                                   uint32_t n_kinds)
{
    for (size_t i = 0; list && i < (size_t)n_kinds * r->n_shards; i++) {
        sf_buf_done(&list[i].sql);
        sf_buf_done(&list[i].out);
    }
    sf_heap_free(list);
}

struct round {
    const struct sf_remote_source *r;
    struct sf_query_ctx *q;
    struct sf_remote_query **open; /* the queries that are sent, */
    struct sf_shard_query *sent;   /* in the same order */
    size_t n;
};

/* Asks shards that did not answer in time before for a constant. */
static void remote_source_probe(struct round *x)
{
    struct sf_remote_query probes[SF_REMOTE_SHARDS];
    const struct sf_remote_source *r = x->r;
    struct sf_shard_query sent[SF_REMOTE_SHARDS];
    int64_t left_ns = x->q->deadline_ns ? (x->q->deadline_ns - sf_clock_mono_ns()) / 3
                                        : SF_SHARD_PROBE_NS;
    size_t n = 0;
    if (left_ns <= 0)
        return;
    for (uint32_t i = 0; i < r->n_shards && i < SF_REMOTE_SHARDS; i++) {
        struct sf_remote_query *p = &probes[n];
        if (!sf_shard_absence_begin_probe(r->absence, i))
            continue;
        *p = (struct sf_remote_query){.shard = i, .out = {.max = PROBE_LEN}};
        sent[n] = (struct sf_shard_query){
            .sql = SF_STR("SELECT 1 FORMAT RowBinary"),
            .limit_ns = left_ns < SF_SHARD_PROBE_NS ? left_ns : SF_SHARD_PROBE_NS,
            .out = &p->out};
        if (r->open(r->arg, i, x->q, &sent[n].shard, NULL))
            continue;
        n++;
    }
    if (n)
        sf_shard_ask_all(r->lines, sent, n);
    for (size_t i = 0; i < n; i++) {
        sf_shard_absence_end_probe(r->absence, probes[i].shard, !sent[i].err);
        sf_shard_close(sent[i].shard);
        sf_buf_done(&probes[i].out);
    }
}

static void remote_source_add(struct round *x, struct sf_remote_query *query, int64_t limit_ns)
{
    const struct sf_remote_source *r = x->r;
    struct sf_shard_query s = {
        .sql = sf_buf_str(&query->sql), .limit_ns = limit_ns, .out = &query->out};
    if (!sf_buf_ok(&query->sql)) {
        query->err = sf_no_memory(&query->why, "a query to ClickHouse");
        return;
    }
    if (r->memo && sf_answer_memo_get(r->memo, x->q->begun_ns, query->shard, s.sql, &query->out)) {
        if (!sf_buf_ok(&query->out))
            query->err = sf_no_memory(&query->why, "the answer of a shard");
        return;
    }
    if (x->q->deadline_ns && limit_ns <= 0)
        query->err = sf_fail(&query->why, SF_ERR_DEADLINE, "no time is left to query a shard");
    else if (sf_shard_absence_is_away(r->absence, query->shard))
        query->err = sf_fail(&query->why, SF_ERR_IO, "a shard did not answer in time before");
    else
        query->err = r->open(r->arg, query->shard, x->q, &s.shard, &query->why);
    if (query->err)
        return;
    x->open[x->n] = query;
    x->sent[x->n++] = s;
}

static void remote_source_take(const struct round *x, size_t i)
{
    const struct sf_remote_source *r = x->r;
    struct sf_remote_query *query = x->open[i];
    query->err = x->sent[i].err;
    query->why = x->sent[i].why;
    if (query->err == SF_ERR_DEADLINE)
        sf_shard_absence_note(r->absence, query->shard, x->sent[i].limit_ns);
    if (!query->err && r->memo)
        sf_answer_memo_put(r->memo, x->q->begun_ns, query->shard, x->sent[i].sql,
                           sf_buf_bytes(&query->out));
    sf_shard_close(x->sent[i].shard);
}

void sf_remote_source_ask_all(const struct sf_remote_source *r, struct sf_query_ctx *q,
                              struct sf_remote_query *list, size_t n)
{
    struct round x = {.r = r,
                      .q = q,
                      .open = sf_heap_new_n(n + 1, sizeof(struct sf_remote_query *)),
                      .sent = sf_heap_new_n(n + 1, sizeof(struct sf_shard_query))};
    int64_t left_ns;
    remote_source_probe(&x);
    left_ns = q->deadline_ns ? q->deadline_ns - sf_clock_mono_ns() : 0;
    for (size_t i = 0; i < n; i++) {
        list[i].err = SF_OK;
        if (!list[i].sql.len && !list[i].sql.err)
            continue;
        if (x.open && x.sent)
            remote_source_add(&x, &list[i], r->n_shards > 1 ? left_ns / 3 * 2 : left_ns);
        else
            list[i].err = sf_no_memory(&list[i].why, "queries to shards");
    }
    if (x.n) {
        atomic_fetch_add_explicit(r->n_rounds, 1, memory_order_relaxed);
        sf_shard_ask_all(r->lines, x.sent, x.n);
    }
    for (size_t i = 0; i < x.n; i++)
        remote_source_take(&x, i);
    sf_heap_free(x.open);
    sf_heap_free(x.sent);
}

void sf_remote_source_ask_each(const struct sf_remote_source *r, struct sf_query_ctx *q,
                               const struct sf_buf *sql, struct sf_remote_query *list)
{
    for (uint32_t i = 0; i < r->n_shards; i++) {
        sf_buf_reset(&list[i].sql);
        sf_buf_reset(&list[i].out);
        sf_buf_add_str(&list[i].sql, sf_buf_str(sql));
        if (sql->err)
            list[i].sql.err = sql->err;
    }
    sf_remote_source_ask_all(r, q, list, r->n_shards);
}

enum sf_err sf_remote_source_result(const struct sf_remote_query *query, struct sf_why *why)
{
    if (query->err && why)
        *why = query->why;
    return query->err;
}

bool sf_remote_source_is_cached(const struct sf_remote_source *r, const struct sf_query_ctx *q,
                                const struct sf_buf *sql)
{
    bool is_cached = r->memo && sf_buf_ok(sql);
    for (uint32_t i = 0; is_cached && i < r->n_shards; i++)
        is_cached = sf_answer_memo_get(r->memo, q->begun_ns, i, sf_buf_str(sql), NULL);
    return is_cached;
}

bool sf_remote_source_goes_on(const struct sf_remote_source *r, uint32_t i, struct sf_query_ctx *q,
                              enum sf_err err)
{
    char what[64];
    if (err == SF_ERR_LIMIT || err == SF_ERR_NOMEM || err == SF_ERR_CANCELLED ||
        (q->deadline_ns && sf_clock_mono_ns() > q->deadline_ns))
        return false;
    snprintf(what, sizeof(what), "shard %" PRIu32 " of %" PRIu32 " did not answer", i + 1,
             r->n_shards);
    sf_unread_add_away(q->unread, (UINT64_C(1) << 48) + i, what);
    q->is_exact = false;
    return true;
}
