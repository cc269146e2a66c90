#include "store/clickhouse/remote_source.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/time_unit.h"
#include "model/profile.h"
#include "os/clock.h"
#include "store/clickhouse/answer_memo.h"
#include "store/clickhouse/shard.h"
#include "store/local/local.h"

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

void sf_remote_source_others(const struct sf_remote_source *r, uint64_t lsn, struct sf_buf *sql)
{
    sf_buf_print(sql,
                 " AND NOT (bitShiftRight(batch, %d) = %" PRIu32 " AND bitAnd(batch, %" PRIu64
                 ") > %" PRIu64 ")",
                 64 - SF_BATCH_NODE_BITS, r->node, record_mask, lsn);
}

void sf_remote_source_mine(const struct sf_remote_source *r, struct sf_buf *sql)
{
    sf_buf_print(sql, "bitShiftRight(batch, %d) = %" PRIu32, 64 - SF_BATCH_NODE_BITS, r->node);
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

enum sf_err sf_remote_source_ask(const struct sf_remote_source *r, uint32_t i,
                                 struct sf_query_ctx *q, struct sf_buf *sql, struct sf_buf *out,
                                 struct sf_why *why)
{
    struct sf_shard *shard = NULL;
    enum sf_err err;
    size_t before = out->len;
    if (!sf_buf_ok(sql))
        return sf_no_memory(why, "a question to ClickHouse");
    if (r->memo && sf_answer_memo_get(r->memo, q->begun_ns, i, sf_buf_str(sql), out))
        return sf_buf_ok(out) ? SF_OK : sf_no_memory(why, "the answer of a shard");
    err = r->open(r->arg, i, q, &shard, why);
    if (!err)
        err = sf_shard_ask(shard, sf_buf_str(sql), q->deadline_ns, out, why);
    sf_shard_close(shard);
    if (!err && r->memo)
        sf_answer_memo_put(r->memo, q->begun_ns, i, sf_buf_str(sql),
                           (sf_bytes){out->p + before, out->len - before});
    return err;
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
    sf_unread_add(q->unread, (UINT64_C(1) << 48) + i, what);
    q->is_exact = false;
    return true;
}
