/* remote.c - the store of a node that ships to ClickHouse: the operations of store.h over all
 * nodes.
 *
 * The store is a local store with some operations replaced. Writes go to the local store; the
 * shipper copies its log to ClickHouse, and with `ack: remote` a request is acknowledged only
 * after every shard has confirmed it. Reads ask all shards and this node's unshipped data (the
 * *_union.c files). Tenants, erasures and verdicts of retention by outcome are shared through
 * tables on the first shard. Calls open their own connections, since the shipper uses its own
 * all the time. */
#include "store/clickhouse/remote.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "store/clickhouse/acks.h"
#include "store/clickhouse/answer_memo.h"
#include "store/clickhouse/attr_columns.h"
#include "store/clickhouse/batch_check.h"
#include "store/clickhouse/group_check.h"
#include "store/clickhouse/lease.h"
#include "store/clickhouse/mover.h"
#include "store/clickhouse/operation_union.h"
#include "store/clickhouse/pin_book.h"
#include "store/clickhouse/profile_union.h"
#include "store/clickhouse/remote_erase.h"
#include "store/clickhouse/remote_fate.h"
#include "store/clickhouse/remote_figures.h"
#include "store/clickhouse/remote_keep.h"
#include "store/clickhouse/row_windows.h"
#include "store/clickhouse/schema.h"
#include "store/clickhouse/shard_absence.h"
#include "store/clickhouse/shard_state.h"
#include "store/clickhouse/shared_text.h"
#include "store/clickhouse/ship_state.h"
#include "store/clickhouse/shipper.h"
#include "store/clickhouse/span_groups.h"
#include "store/clickhouse/tag_union.h"
#include "store/clickhouse/trace_search.h"
#include "store/clickhouse/trace_union.h"
#include "store/clickhouse/upkeep.h"
#include "store/local/local.h"
#include "wal/wal.h"
#include "wire/row_binary.h"

#define CONNECT_NS (2 * SF_NS_PER_S)
#define ACK_NS     (5 * SF_NS_PER_S) /* how long a request waits for a failing shard */
#define STATE_NS   (3 * SF_NS_PER_S) /* how long a shard may take to tell its version */
#define TENANT_NS  (5 * SF_NS_PER_S) /* how long shards are queried for a tenant's name */

struct sf_remote {
    struct sf_remote_config config;
    struct sf_shipper *shipper;
    struct sf_mover *mover;
    uint64_t history_lsn; /* the last record that was in blocks when the node began to ship */
    bool is_history_known;
    struct sf_upkeep *upkeep;
    int64_t keep_asked_ns; /* monotonic; used by the judging thread: when the shards last had
                              nothing due */
    struct sf_acks acks;
    struct sf_answer_memo memo;
    struct sf_attr_columns attributes;
    struct sf_shard_absence absence;
    struct sf_group_checks checks;
    struct sf_shard_lines *lines; /* of readers */
    size_t answer_len;            /* maximum of an answer of a shard */
    atomic_uint_fast64_t n_rounds, n_grouped;
};

static struct sf_remote *remote_of(struct sf_store *s)
{
    return sf_local_wrapper(s);
}

static void remote_done_shared(struct sf_remote *r)
{
    sf_acks_done(&r->acks);
    sf_answer_memo_done(&r->memo);
    sf_shard_absence_done(&r->absence);
    sf_group_checks_done(&r->checks);
    sf_shard_lines_free(r->lines);
}

/* Opens a connection for this call only: those of the shipper are in use. */
static enum sf_err open_shard_for(const struct sf_remote *r, uint32_t i, int64_t whole_ns,
                                  const struct sf_query_ctx *q, struct sf_shard **out,
                                  struct sf_why *why)
{
    return sf_shard_open(&(struct sf_shard_config){.address = r->config.address.shards[i],
                                                   .database = r->config.address.database,
                                                   .user = r->config.user,
                                                   .password = r->config.password,
                                                   .ca_file = r->config.ca_file,
                                                   .connect_ns = CONNECT_NS,
                                                   .whole_ns = whole_ns,
                                                   .answer_len = r->answer_len,
                                                   .memory_len = r->config.memory_len,
                                                   .cancel = q->cancel},
                         out, why);
}

static enum sf_err open_shard(const struct sf_remote *r, uint32_t i, const struct sf_query_ctx *q,
                              struct sf_shard **out, struct sf_why *why)
{
    return open_shard_for(r, i, r->config.timeout_ns, q, out, why);
}

/* ---- state ---- */

static enum sf_err remote_ask_shard(struct sf_remote *r, uint32_t i, struct sf_query_ctx *q,
                                    struct sf_remote_shard *out, struct sf_why *why)
{
    struct sf_shard *shard = NULL;
    int64_t whole_ns = r->config.timeout_ns < STATE_NS ? r->config.timeout_ns : STATE_NS;
    enum sf_err err = open_shard_for(r, i, whole_ns, q, &shard, why);
    if (err)
        return err;
    out->address = sf_str_from(r->config.address.shards[i]);
    err = sf_shard_state_ask(shard, r->config.address.database, q, out, why);
    sf_shard_close(shard);
    return err;
}

static enum sf_err remote_state(struct sf_store *s, struct sf_query_ctx *q,
                                struct sf_remote_state *out, struct sf_why *why)
{
    struct sf_remote *r = remote_of(s);
    uint32_t n = r->config.address.n_shards;
    struct sf_remote_shard *shards = sf_arena_new_n(q->req, n, sizeof(*shards));
    enum sf_err err = shards ? SF_OK : sf_no_room(why, "the state of the shards");
    for (uint32_t i = 0; !err && i < n; i++)
        err = remote_ask_shard(r, i, q, &shards[i], why);
    if (err)
        return err;
    *out = (struct sf_remote_state){
        .database = sf_str_from(r->config.address.database), .shards = shards, .n_shards = n};
    sf_shipper_counts(r->shipper, &out->counts);
    sf_mover_counts(r->mover, &out->move);
    return SF_OK;
}

/* The rows that this node shipped from its log, and those that it moved. */
static enum sf_err remote_check_shard(struct sf_remote *r, struct sf_batch_checking *c,
                                      const uint8_t *uuid, struct sf_query_ctx *q,
                                      struct sf_remote_check *io, struct sf_why *why)
{
    enum sf_err err;
    c->node = uuid;
    c->extent = sf_shipper_extent(r->shipper);
    err = sf_batch_check(c, q, io, why);
    if (err || !sf_mover_has_begun(r->mover))
        return err;
    c->node = sf_mover_node(r->mover);
    c->extent = sf_mover_extent(r->mover);
    return c->extent.last_record ? sf_batch_check(c, q, io, why) : SF_OK;
}

static enum sf_err remote_move(struct sf_store *s, sf_str to, struct sf_move_counts *out,
                               struct sf_why *why)
{
    struct sf_mover *m = remote_of(s)->mover;
    enum sf_err err = to.len ? sf_mover_begin(m, to, why) : SF_OK;
    if (!err)
        sf_mover_counts(m, out);
    return err;
}

/* A statement may take as long as the request: store.remote.timeout is for statements that are
 * repeated when they fail. */
static enum sf_err remote_check(struct sf_store *s, int64_t since_ns, struct sf_query_ctx *q,
                                struct sf_remote_check *out, struct sf_why *why)
{
    struct sf_remote *r = remote_of(s);
    struct sf_remote_check check = {.since_ns = since_ns};
    struct sf_batch_checking c = {.database = r->config.address.database};
    int64_t left_ns = q->deadline_ns ? q->deadline_ns - sf_clock_mono_ns() : r->config.timeout_ns;
    enum sf_err err = open_shard_for(r, 0, left_ns, q, &c.first, why);
    for (uint32_t i = 0; !err && i < r->config.address.n_shards; i++) {
        c.number = i + 1;
        err = open_shard_for(r, i, left_ns, q, &c.shard, why);
        if (!err)
            err = remote_check_shard(r, &c, sf_local_uuid(s), q, &check, why);
        sf_shard_close(c.shard);
        c.shard = NULL;
    }
    sf_shard_close(c.first);
    if (!err)
        *out = check;
    return err;
}

/* ---- reading ---- */

static enum sf_err open_to_read(void *arg, uint32_t shard, const struct sf_query_ctx *q,
                                struct sf_shard **out, struct sf_why *why)
{
    return open_shard(arg, shard, q, out, why);
}

static uint64_t shipped_lsn(const void *arg)
{
    return sf_shipper_shipped(((const struct sf_remote *)arg)->shipper);
}

static struct sf_remote_source remote_source_of(struct sf_store *s)
{
    struct sf_remote *r = remote_of(s);
    bool has_moved = sf_mover_is_done(r->mover);
    return (struct sf_remote_source){.store = s,
                                     .has_mover = sf_mover_has_begun(r->mover),
                                     .mover = sf_remote_source_node(sf_mover_node(r->mover)),
                                     .history_lsn = has_moved ? 0 : r->history_lsn,
                                     .has_left_out = sf_shipper_left_out(r->shipper) ||
                                                     (!has_moved && !r->is_history_known),
                                     .own_ops = &sf_store_local_ops,
                                     .database = r->config.address.database,
                                     .n_shards = r->config.address.n_shards,
                                     .node = sf_remote_source_node(sf_local_uuid(s)),
                                     .shipped_lsn = shipped_lsn,
                                     .open = open_to_read,
                                     .arg = r,
                                     .memo = &r->memo,
                                     .attributes = &r->attributes,
                                     .absence = &r->absence,
                                     .lines = r->lines,
                                     .n_rounds = &r->n_rounds};
}

static enum sf_err remote_traces_get(struct sf_store *s, const struct sf_trace_ask *asks,
                                     size_t n_asks, struct sf_query_ctx *q,
                                     struct sf_span_cursor **out, struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return sf_trace_union_get(&source, asks, n_asks, q, out, why);
}

static enum sf_err remote_span_scan(struct sf_store *s, const struct sf_span_query *query,
                                    struct sf_query_ctx *q, struct sf_span_cursor **out,
                                    struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return query->judge || query->has_whole_traces
               ? sf_trace_search_open(&source, query, q, out, why)
               : sf_row_windows_scan(&source, query, q, out, why);
}

static enum sf_err remote_span_columns(struct sf_store *s, const struct sf_span_query *query,
                                       struct sf_query_ctx *q, struct sf_column_cursor **out,
                                       struct sf_why *why)
{
    struct sf_remote *r = remote_of(s);
    struct sf_remote_source source = remote_source_of(s);
    enum sf_err err = sf_span_groups_open(&r->checks, &source, query, q, out, why);
    if (err == SF_ERR_UNSUPPORTED)
        return sf_row_windows_columns(&source, query, q, out, why);
    if (!err)
        atomic_fetch_add_explicit(&r->n_grouped, 1, memory_order_relaxed);
    return err;
}

static enum sf_err remote_span_tags(struct sf_store *s, const struct sf_tag_query *query,
                                    struct sf_query_ctx *q, struct sf_str_cursor **out,
                                    struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return sf_tag_union_open(&source, query, q, out, why);
}

static enum sf_err remote_operations(struct sf_store *s, int64_t from_ns, int64_t to_ns,
                                     struct sf_query_ctx *q, struct sf_operation_rows *out,
                                     struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return sf_operation_union_read(&source, from_ns, to_ns, q, out, why);
}

static enum sf_err remote_prof_merge(struct sf_store *s, const struct sf_prof_query *query,
                                     struct sf_query_ctx *q, const struct sf_tree **out,
                                     struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return sf_profile_union_merge(&source, query, q, out, why);
}

static enum sf_err remote_prof_points(struct sf_store *s, const struct sf_prof_query *query,
                                      const sf_str *keys, size_t n_keys, int64_t step_ns,
                                      struct sf_query_ctx *q, struct sf_prof_points *out,
                                      struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return sf_profile_union_points(&source, query, keys, n_keys, step_ns, q, out, why);
}

static enum sf_err remote_prof_list(struct sf_store *s, const struct sf_prof_query *query,
                                    struct sf_query_ctx *q, struct sf_prof_list *out,
                                    struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return sf_profile_union_list(&source, query, q, out, why);
}

static enum sf_err remote_prof_spans(struct sf_store *s, sf_span_id low, sf_span_id high,
                                     size_t cap, struct sf_query_ctx *q,
                                     const struct sf_prof_span **out, size_t *out_n,
                                     struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return sf_profile_union_spans(&source, low, high, cap, q, out, out_n, why);
}

static enum sf_err remote_detail_list(struct sf_store *s, const struct sf_detail_query *query,
                                      struct sf_query_ctx *q, struct sf_detail_list *out,
                                      struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return sf_profile_union_details(&source, query, q, out, why);
}

static enum sf_err remote_detail_sums(struct sf_store *s, const struct sf_detail_query *query,
                                      const struct sf_frame_test *test, struct sf_query_ctx *q,
                                      struct sf_span_costs *out, struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return sf_profile_union_sums(&source, query, test, q, out, why);
}

static enum sf_err remote_detail_top(struct sf_store *s, const struct sf_detail_query *query,
                                     const struct sf_frame_test *test, uint32_t limit,
                                     struct sf_query_ctx *q, struct sf_span_top *out,
                                     struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return sf_profile_union_top(&source, query, test, limit, q, out, why);
}

/* ---- tenants ---- */

static enum sf_err ask_for_tenant(struct sf_remote *r, uint32_t i, sf_str name, bool *out,
                                  struct sf_why *why)
{
    struct sf_query_ctx q = {.deadline_ns = sf_clock_mono_ns() + TENANT_NS};
    struct sf_buf sql = {0}, answer = {.max = 64};
    struct sf_shard *shard = NULL;
    struct sf_row_reader reader;
    enum sf_err err = open_shard(r, i, &q, &shard, why);
    static const char *const tables[] = {"spans", "profiles"};
    sf_buf_print(&sql, "SELECT toUInt64(count()) FROM (");
    for (size_t t = 0; t < 2; t++) {
        sf_buf_print(&sql,
                     "%sSELECT * FROM (SELECT 1 FROM %s.%s WHERE tenant = ", t ? " UNION ALL " : "",
                     r->config.address.database, tables[t]);
        sf_remote_source_quote(&sql, name);
        sf_buf_print(&sql, " LIMIT 1)");
    }
    sf_buf_print(&sql, ") FORMAT RowBinary");
    if (!err && !sf_buf_ok(&sql))
        err = sf_no_memory(why, "a question to ClickHouse");
    if (!err)
        err = sf_shard_ask(shard, sf_buf_str(&sql), q.deadline_ns, &answer, why);
    reader = sf_row_reader_init(sf_buf_bytes(&answer));
    if (!err) {
        *out = sf_row_binary_u64(&reader) > 0;
        err = sf_row_binary_check(&reader, why);
    }
    sf_shard_close(shard);
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    return err;
}

/* A tenant that is known only to other nodes gets a local number when it is first requested. */
static enum sf_err remote_tenant(struct sf_store *s, sf_str name, bool can_create, uint32_t *out,
                                 struct sf_why *why)
{
    struct sf_remote *r = remote_of(s);
    enum sf_err err = sf_store_local_ops.tenant(s, name, can_create, out, why), first = SF_OK;
    struct sf_why own;
    bool is_there = false;
    if (err != SF_ERR_NOT_FOUND)
        return err;
    for (uint32_t i = 0; !is_there && i < r->config.address.n_shards; i++) {
        enum sf_err asked = ask_for_tenant(r, i, name, &is_there, &own);
        if (asked && !first) {
            first = asked;
            if (why)
                *why = own;
        }
    }
    if (is_there)
        return sf_store_local_ops.tenant(s, name, true, out, why);
    return first ? first : err; /* a shard that did not answer may know it */
}

/* ---- keeping by outcome ---- */

/* Each node judges the data on its own disk; the holder of the lease judges the data in
 * ClickHouse. */
static enum sf_err remote_keep_due(struct sf_store *s, struct sf_arena *req,
                                   struct sf_keep_due *out, struct sf_why *why)
{
    struct sf_remote *r = remote_of(s);
    struct sf_remote_source source = remote_source_of(s);
    struct sf_upkeep_counts upkeep;
    int64_t now_ns = sf_clock_mono_ns();
    enum sf_err err = sf_store_local_ops.keep_due(s, req, out, why);
    if (err != SF_ERR_NOT_FOUND)
        return err;
    sf_upkeep_counts(r->upkeep, &upkeep);
    if (!upkeep.has_lease ||
        (r->keep_asked_ns && now_ns - r->keep_asked_ns < 12 * r->config.interval_ns))
        return err;
    err = sf_remote_keep_due(&source, sf_upkeep_grace_s(r->config.interval_ns), req, out, why);
    if (err)
        r->keep_asked_ns = now_ns;
    return err;
}

static enum sf_err remote_keep_put(struct sf_store *s, const struct sf_verdict *v,
                                   struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return v->head.is_shared
               ? sf_remote_keep_put(&source, v, sf_upkeep_grace_s(remote_of(s)->config.interval_ns),
                                    why)
               : sf_store_local_ops.keep_put(s, v, why);
}

static enum sf_err remote_keep_get(struct sf_store *s, uint32_t tenant, int64_t hour,
                                   struct sf_arena *req, struct sf_verdict *out, struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    struct sf_query_ctx q = {.tenants = &tenant, .n_tenants = 1, .req = req};
    enum sf_err err = sf_store_local_ops.keep_get(s, tenant, hour, req, out, why);
    return err == SF_ERR_NOT_FOUND ? sf_remote_fate_rules(&source, hour, &q, out, why) : err;
}

static enum sf_err remote_keep_states(struct sf_store *s, const struct sf_keep_ask *asks,
                                      uint32_t n, struct sf_query_ctx *q, struct sf_keep_state *out,
                                      struct sf_why *why)
{
    struct sf_remote_source source = remote_source_of(s);
    return sf_remote_fate_states(&source, asks, n, q, out, why);
}

/* ---- pins, shared texts and leases: on the first shard ---- */

static enum sf_err open_first(struct sf_remote *r, struct sf_shard **out, struct sf_why *why)
{
    struct sf_query_ctx q = {0};
    return open_shard(r, 0, &q, out, why);
}

static enum sf_err remote_pin(struct sf_store *s, const struct sf_pin *pin, struct sf_why *why)
{
    struct sf_remote *r = remote_of(s);
    struct sf_shard *first = NULL;
    enum sf_err err = open_first(r, &first, why);
    if (!err)
        err = sf_pin_book_pin(first, r->config.address.database, s, pin, why);
    sf_shard_close(first);
    return err;
}

static enum sf_err remote_unpin(struct sf_store *s, uint32_t tenant, sf_trace_id id,
                                struct sf_why *why)
{
    struct sf_remote *r = remote_of(s);
    struct sf_shard *first = NULL;
    enum sf_err err = open_first(r, &first, why);
    if (!err)
        err = sf_pin_book_unpin(first, r->config.address.database, s, tenant, id, why);
    sf_shard_close(first);
    return err;
}

static enum sf_err remote_shared_get(struct sf_store *s, struct sf_query_ctx *q,
                                     struct sf_shared_text *io, struct sf_why *why)
{
    struct sf_remote *r = remote_of(s);
    struct sf_shared_text t = *io;
    struct sf_shard *first = NULL;
    struct sf_buf answer = {0};
    enum sf_err err = open_shard(r, 0, q, &first, why);
    if (!err)
        err = sf_shared_text_get(first, r->config.address.database, &t, &answer, why);
    if (!err && !sf_arena_copy(q->req, t.body, &t.body))
        err = sf_no_room(why, "a text that nodes share");
    sf_shard_close(first);
    sf_buf_done(&answer);
    if (!err)
        *io = t;
    return err;
}

static enum sf_err remote_shared_put(struct sf_store *s, const struct sf_shared_text *text,
                                     struct sf_why *why)
{
    struct sf_remote *r = remote_of(s);
    struct sf_shard *first = NULL;
    enum sf_err err = open_first(r, &first, why);
    if (!err)
        err = sf_shared_text_put(first, r->config.address.database, text, why);
    sf_shard_close(first);
    return err;
}

static enum sf_err remote_shared_lease(struct sf_store *s, const char *name, int64_t ttl_ns,
                                       bool *out, struct sf_why *why)
{
    struct sf_remote *r = remote_of(s);
    struct sf_lease lease = {.name = name, .ttl_ns = ttl_ns};
    struct sf_shard *first = NULL;
    enum sf_err err = open_first(r, &first, why);
    if (!err)
        err = sf_lease_ask(&lease, first, r->config.address.database, sf_local_uuid(s), out, why);
    sf_shard_close(first);
    return err;
}

/* ---- writing ---- */

/* With `ack: remote`, a request is refused while shipping keeps failing: the sender retries. */
static enum sf_err remote_append(struct sf_store *s, unsigned writer, struct sf_batch **give,
                                 struct sf_ticket *ticket, struct sf_why *why)
{
    struct sf_remote *r = remote_of(s);
    if (!r->config.is_ack_remote)
        return sf_store_local_ops.append(s, writer, give, ticket, why);
    if (sf_shipper_is_failing(r->shipper))
        return sf_fail(why, SF_ERR_BUSY, "ClickHouse does not confirm data (store.remote.ack)");
    return sf_acks_append(&r->acks, s, writer, give, ticket, why);
}

static void confirmed(void *arg, uint64_t lsn)
{
    sf_acks_confirm(&((struct sf_remote *)arg)->acks, lsn);
}

static void failed(void *arg)
{
    sf_acks_expire(&((struct sf_remote *)arg)->acks, sf_clock_mono_ns() - ACK_NS);
}

/* ---- what differs from the local store ---- */

static void remote_close(struct sf_store *s)
{
    struct sf_remote *r;
    if (!s)
        return;
    r = remote_of(s);
    sf_upkeep_stop(r->upkeep);
    sf_shipper_stop(r->shipper); /* it asks the mover */
    sf_mover_close(r->mover);
    remote_done_shared(r);
    sf_heap_free(r);
    sf_local_wrap(s, &sf_store_local_ops, NULL);
    sf_store_local_ops.close(s);
}

static enum sf_pressure remote_pressure(struct sf_store *s, bool *out_is_brief)
{
    enum sf_pressure own = sf_shipper_pressure(remote_of(s)->shipper),
                     local = sf_store_local_ops.pressure(s, out_is_brief);
    *out_is_brief = *out_is_brief && local > own;
    return sf_pressure_max(own, local);
}

/* Erases on one shard after the other, until each has no such row left. An unreachable shard is
 * processed when it is back: the erasure is recorded. */
static enum sf_err remote_erase(struct sf_store *s, uint32_t tenant,
                                const struct sf_selector *which, struct sf_why *why)
{
    struct sf_remote *r = remote_of(s);
    const char *database = r->config.address.database;
    struct sf_query_ctx q = {0};
    struct sf_shard *shard = NULL;
    struct sf_why own = {0};
    uint64_t id = 0, n = 0, lsn = sf_wal_whole_lsn(sf_local_log(s));
    struct sf_buf old = {0};
    sf_str name;
    enum sf_err err = open_shard(r, 0, &q, &shard, why), late = SF_OK;
    if (!err)
        err = sf_pin_book_erase(shard, database, s, tenant, which, why);
    if (!err)
        err = sf_remote_erase_begin(shard, database, s, tenant, which, lsn, &id, why);
    sf_shard_close(shard);
    if (err || !sf_local_tenant_name(s, tenant, &name))
        return err;
    sf_remote_source_before(sf_remote_source_node(sf_local_uuid(s)), lsn, &old);
    for (uint32_t i = 0; i < r->config.address.n_shards; i++) {
        enum sf_err one = open_shard(r, i, &q, &shard, &own);
        if (!one)
            one = sf_remote_erase_rows(shard, database, id, name, which, sf_buf_str(&old), &n,
                                       &own);
        late = late ? late : one;
        sf_shard_close(shard);
        shard = NULL;
    }
    sf_buf_done(&old);
    return late ? sf_fail(
                      why, late,
                      "hidden on this node, but not yet erased completely in ClickHouse, where a "
                      "node continues: %.150s",
                      own.text)
                : SF_OK;
}

static enum sf_err remote_store_state(struct sf_store *s, struct sf_store_state *out,
                                      struct sf_why *why)
{
    enum sf_err err = sf_store_local_ops.state(s, out, why);
    enum sf_pressure own = sf_shipper_pressure(remote_of(s)->shipper);
    struct sf_remote_counts c;
    if (err || own == SF_PRESSURE_NONE || own < out->pressure)
        return err;
    sf_shipper_counts(remote_of(s)->shipper, &c);
    out->pressure = own;
    snprintf(out->reason, sizeof(out->reason),
             "%" PRIu64 " of %" PRIu64 " MB wait for ClickHouse: %.140s", c.spool_len / 1000000,
             c.spool_max_len / 1000000,
             c.last_error[0] ? c.last_error : "it takes data more slowly than it comes in");
    return SF_OK;
}

static void remote_figures(struct sf_store *s, sf_store_figure_fn say, void *arg)
{
    struct sf_remote *r = remote_of(s);
    struct sf_remote_figures f = {.n_rounds = atomic_load(&r->n_rounds),
                                  .n_grouped = atomic_load(&r->n_grouped)};
    sf_store_local_ops.figures(s, say, arg);
    sf_shipper_counts(r->shipper, &f.ship);
    sf_upkeep_counts(r->upkeep, &f.upkeep);
    sf_mover_counts(r->mover, &f.move);
    sf_remote_figures_say(&f, say, arg);
}

static uint64_t remote_moved(void *arg, const uint8_t **out_node)
{
    struct sf_remote *r = arg;
    *out_node = sf_mover_node(r->mover);
    return sf_mover_done_pieces(r->mover);
}

/* Operations of the local store, some replaced by those above; filled at open. */
static struct sf_store_ops ops;

/* ---- open ---- */

static enum sf_err remote_start(struct sf_remote *r, const struct sf_local_config *local,
                                const struct sf_ship_state *found, struct sf_store *store,
                                struct sf_why *why)
{
    struct sf_ship_state state = *found;
    struct sf_shipper_config c = {.dir = local->dir,
                                  .state_name = SF_SHIP_STATE_NAME,
                                  .moved = remote_moved,
                                  .moved_arg = r,
                                  .address = &r->config.address,
                                  .user = r->config.user,
                                  .password = r->config.password,
                                  .ca_file = r->config.ca_file,
                                  .interval_ns = r->config.is_ack_remote &&
                                                         r->config.interval_ns > SF_NS_PER_S
                                                     ? SF_NS_PER_S
                                                     : r->config.interval_ns,
                                  .confirmed = r->config.is_ack_remote ? confirmed : NULL,
                                  .failed = r->config.is_ack_remote ? failed : NULL,
                                  .confirmed_arg = r,
                                  .timeout_ns = r->config.timeout_ns,
                                  .spool_len = r->config.spool_len,
                                  .memory_len = r->config.memory_len,
                                  .attributes = &r->attributes,
                                  .is_undecided = local->retention.keep.is_on,
                                  .replay = local->replay,
                                  .replay_arg = local->replay_arg,
                                  .notice = local->notice,
                                  .notice_arg = local->notice_arg};
    struct sf_upkeep_config upkeep = {.address = &r->config.address,
                                      .user = r->config.user,
                                      .password = r->config.password,
                                      .ca_file = r->config.ca_file,
                                      .interval_ns = r->config.interval_ns,
                                      .memory_len = r->config.memory_len,
                                      .tenant_rule = local->tenant_rule,
                                      .tenant_rule_arg = local->tenant_rule_arg,
                                      .notice = local->notice,
                                      .notice_arg = local->notice_arg};
    uint8_t none[16] = {0};
    enum sf_err err;
    if (memcmp(found->node, none, 16) == 0) {
        struct sf_local_stats stats;
        sf_local_figures_stats(store, &stats);
        memcpy(state.node, sf_local_uuid(store), 16);
        state.shipped_lsn = stats.ckpt_lsn;
        state.first_record = stats.ckpt_lsn + 1;
    } else if (memcmp(found->node, sf_local_uuid(store), 16) != 0) {
        return sf_fail(why, SF_ERR_CORRUPT,
                       SF_SHIP_STATE_NAME " belongs to another data directory; delete it to ship "
                                          "from this one");
    }
    sf_acks_confirm(&r->acks, state.shipped_lsn);
    r->history_lsn = state.first_record ? state.first_record - 1 : 0;
    r->is_history_known = state.first_record != 0;
    err = sf_mover_open(&(struct sf_mover_config){.ship = c,
                                                  .store = store,
                                                  .history_lsn = r->history_lsn,
                                                  .is_history_known = state.first_record != 0},
                        &r->mover, why);
    if (!err)
        err = sf_shipper_start(&c, store, &state, &r->shipper, why);
    if (!err)
        err = sf_upkeep_start(&upkeep, store, &r->upkeep, why);
    return err;
}

static void fill_ops(void)
{
    ops = sf_store_local_ops;
    ops.name = "clickhouse";
    ops.close = remote_close;
    ops.pressure = remote_pressure;
    ops.append = remote_append;
    ops.tenant = remote_tenant;
    ops.traces_get = remote_traces_get;
    ops.span_scan = remote_span_scan;
    ops.span_columns = remote_span_columns;
    ops.span_tags = remote_span_tags;
    ops.operations = remote_operations;
    ops.prof_merge = remote_prof_merge;
    ops.prof_points = remote_prof_points;
    ops.prof_list = remote_prof_list;
    ops.prof_spans = remote_prof_spans;
    ops.detail_list = remote_detail_list;
    ops.detail_sums = remote_detail_sums;
    ops.detail_top = remote_detail_top;
    ops.erase = remote_erase;
    ops.pin = remote_pin;
    ops.unpin = remote_unpin;
    ops.shared_get = remote_shared_get;
    ops.shared_put = remote_shared_put;
    ops.shared_lease = remote_shared_lease;
    ops.keep_due = remote_keep_due;
    ops.keep_put = remote_keep_put;
    ops.keep_get = remote_keep_get;
    ops.keep_states = remote_keep_states;
    ops.state = remote_store_state;
    ops.figures = remote_figures;
    ops.remote_state = remote_state;
    ops.remote_check = remote_check;
    ops.remote_move = remote_move;
}

enum sf_err sf_remote_open(const struct sf_local_config *local,
                           const struct sf_remote_config *config, struct sf_store **out,
                           struct sf_why *why)
{
    struct sf_local_config followed = *local;
    struct sf_ship_state state = {0};
    struct sf_remote *r = sf_heap_new(sizeof(*r));
    struct sf_store *store = NULL;
    enum sf_err err = r ? sf_ship_state_read(local->dir, SF_SHIP_STATE_NAME, &state, why)
                        : sf_no_memory(why, "the remote store");
    if (r)
        sf_acks_init(&r->acks);
    if (r) {
        sf_answer_memo_init(&r->memo);
        sf_shard_absence_init(&r->absence);
        sf_group_checks_init(&r->checks);
        r->lines = sf_shard_lines_new();
    }
    if (r && !r->lines)
        err = sf_no_memory(why, "the remote store");
    if (err == SF_ERR_NOT_FOUND) {
        followed.is_follower_new = true;
        err = SF_OK;
    }
    if (!err) {
        r->config = *config;
        r->attributes.names = config->attributes;
        r->attributes.n = config->n_attributes;
        followed.is_followed = true;
        followed.followed_lsn = state.shipped_lsn;
        followed.history_lsn = state.first_record && !sf_mover_was_done(local->dir)
                                   ? state.first_record - 1
                                   : 0;
        err = sf_local_open_store(&followed, &store, why);
    }
    if (!err) {
        r->answer_len = sf_local_memory_len(store) / SF_SHARD_ANSWER_PARTS;
        err = remote_start(r, local, &state, store, why);
    }
    if (err) {
        if (r)
            sf_shipper_stop(r->shipper);
        if (r)
            sf_mover_close(r->mover);
        if (store)
            store->ops->close(store);
        if (r)
            remote_done_shared(r);
        sf_heap_free(r);
        return err;
    }
    fill_ops();
    sf_local_wrap(store, &ops, r);
    *out = store;
    return SF_OK;
}
