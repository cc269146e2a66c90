/* remote_keep.c - retention of samples by outcome in ClickHouse, as SQL: finding the oldest hour
 * that is due, writing a verdict as an attempt, and deleting judged samples. remote_fate.c reads
 * what was kept. remote_keep.h describes the tables and why a verdict counts at once or not at all.
 */
#include "store/clickhouse/remote_keep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "model/process.h"
#include "os/random.h"
#include "store/clickhouse/first_row.h"
#include "store/clickhouse/pin_set.h"
#include "store/clickhouse/row_removal.h"
#include "store/clickhouse/schema.h"
#include "store/local/local.h"
#include "wire/deflate.h"
#include "wire/row_binary.h"

enum { ANSWER_LEN = 64 << 20, STALE_S = 3600, MOST_PARTS = 4096 };

/* ---- questions ---- */

static enum sf_err remote_keep_ask(struct sf_shard *shard, struct sf_buf *sql,
                                   struct sf_buf *answer, struct sf_why *why)
{
    sf_buf_reset(answer);
    return sf_buf_ok(sql) ? sf_shard_ask(shard, sf_buf_str(sql), 0, answer, why)
                          : sf_no_memory(why, "a statement");
}

static enum sf_err remote_keep_run(struct sf_shard *shard, struct sf_buf *sql, struct sf_why *why)
{
    return sf_buf_ok(sql) ? sf_shard_run(shard, sf_buf_str(sql), why)
                          : sf_no_memory(why, "a statement");
}

/* ---- what is due ---- */

struct found { /* the oldest hour of a shard; hour 0: none */
    int64_t hour;
    sf_str tenant; /* in `req` */
};

static enum sf_err remote_keep_find_due(const struct sf_remote_source *r, struct sf_shard *shard,
                                        int64_t delay_s, struct sf_arena *req, struct found *io,
                                        struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = 1 << 16};
    struct sf_row_reader rows;
    enum sf_err err;
    sf_buf_print(
        &sql,
        "SELECT tenant, intDiv(bucket, 3600) AS hour FROM %s." SF_SCHEMA_UNDECIDED
        " WHERE (hour + 1) * 3600 + %" PRId64
        " <= toUnixTimestamp(now()) AND (tenant, hour, batch) NOT IN (SELECT tenant, hour, "
        "batch FROM %s.judged_batches WHERE attempt IN (SELECT attempt FROM %s.judged)) AND "
        "batch IN (SELECT batch FROM %s.batches WHERE intDiv(received_ns, 1000000000) + "
        "%" PRId64 " <= toUnixTimestamp(now())) ORDER BY hour LIMIT 1 FORMAT RowBinary",
        r->database, delay_s, r->database, r->database, r->database, delay_s);
    err = remote_keep_ask(shard, &sql, &answer, why);
    rows = sf_row_reader_init(sf_buf_bytes(&answer));
    if (!err && sf_row_more(&rows)) {
        sf_str tenant = sf_row_binary_str(&rows);
        int64_t hour = sf_row_binary_u32(&rows);
        err = sf_row_binary_check(&rows, why);
        if (!err && (!io->hour || hour < io->hour)) {
            io->hour = hour;
            if (!sf_arena_copy(req, tenant, &io->tenant))
                err = sf_no_room(why, "the name of a tenant");
        }
    }
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    return err;
}

enum sf_err sf_remote_keep_due(const struct sf_remote_source *r, int64_t grace_s,
                               struct sf_arena *req, struct sf_keep_due *out, struct sf_why *why)
{
    struct sf_query_ctx q = {.req = req};
    struct sf_retention rule;
    int64_t now_ns;
    if (!sf_local_retention(r->store, &rule, &now_ns))
        return sf_fail(why, SF_ERR_NOT_FOUND, "the clock is ahead: removal pauses");
    for (;;) {
        struct sf_keep_due due = {.is_shared = true};
        struct found found = {0};
        enum sf_err err = SF_OK;
        for (uint32_t i = 0; !err && i < r->n_shards; i++) {
            struct sf_shard *shard = NULL;
            err = r->open(r->arg, i, &q, &shard, why);
            if (!err)
                err = remote_keep_find_due(r, shard, rule.tail_delay_ns / SF_NS_PER_S, req, &found,
                                           why);
            sf_shard_close(shard);
        }
        if (err)
            return err;
        if (!found.hour)
            return sf_fail(why, SF_ERR_NOT_FOUND, "no hour is due");
        due.hour = found.hour;
        err = r->store->ops->tenant(r->store, found.tenant, true, &due.tenant, why);
        if (!err)
            err = sf_local_keep_rules(r->store, due.hour, req, &due, why);
        if (!err) {
            *out = due;
            return SF_OK;
        }
        if (err != SF_ERR_NOT_FOUND)
            return err;
        struct sf_verdict whole = {
            .head = {.tenant = due.tenant, .hour = due.hour, .is_whole = true, .is_shared = true}};
        err = sf_remote_keep_put(r, &whole, grace_s, why);
        if (err)
            return err;
    }
}

/* ---- an attempt ---- */

struct attempt {
    const struct sf_remote_source *r;
    const struct sf_verdict *v;
    struct sf_shard *shard;
    sf_str tenant;
    struct sf_pin_set pins; /* kept whatever the outcome */
    uint64_t number;
    uint64_t round;
    uint64_t *batches;
    uint32_t n_batches, cap_batches;
    struct sf_deflate *deflate;
    struct sf_buf sql, answer, rows, frame;
};

static uint16_t day_of(const struct attempt *a)
{
    return (uint16_t)(a->v->head.hour / 24);
}

/* "tenant = '...' AND hour = ..." */
static void put_which(struct attempt *a, const char *hour)
{
    sf_buf_print(&a->sql, "tenant = ");
    sf_remote_source_quote(&a->sql, a->tenant);
    sf_buf_print(&a->sql, " AND %s = %" PRId64, hour, a->v->head.hour);
}

/* The round is read before the batches. If another node's attempt counts from then on, it has the
 * same round, and this one does not count; otherwise it is known, and its batches are left out. In
 * the other order both could count. */
static enum sf_err read_round(struct attempt *a, struct sf_why *why)
{
    uint64_t now_s = 0;
    enum sf_err err;
    sf_buf_reset(&a->sql);
    sf_buf_print(&a->sql,
                 "SELECT toUInt64(toUnixTimestamp(now())) * 4294967296 + (SELECT count() FROM "
                 "%s.judged WHERE ",
                 a->r->database);
    put_which(a, "hour");
    sf_buf_print(&a->sql, ") FORMAT RowBinary");
    err = sf_row_removal_ask(a->shard, &a->sql, &now_s, why);
    a->round = (now_s & UINT32_MAX) + 1;
    sf_random_fill(&a->number, sizeof(a->number));
    /* The time in the high half, random bits in the low half. */
    a->number = (now_s & ~(uint64_t)UINT32_MAX) | (a->number & UINT32_MAX);
    return err;
}

static enum sf_err read_batches(struct attempt *a, struct sf_why *why)
{
    const char *database = a->r->database;
    struct sf_row_reader rows;
    enum sf_err err;
    sf_buf_reset(&a->sql);
    sf_buf_print(&a->sql, "SELECT DISTINCT batch FROM %s." SF_SCHEMA_UNDECIDED " WHERE ", database);
    put_which(a, "intDiv(bucket, 3600)");
    sf_buf_print(&a->sql,
                 " AND batch IN (SELECT batch FROM %s.batches) AND batch NOT IN (SELECT batch FROM "
                 "%s.judged_batches WHERE ",
                 database, database);
    put_which(a, "hour");
    sf_buf_print(&a->sql, " AND attempt IN (SELECT attempt FROM %s.judged)) FORMAT RowBinary",
                 database);
    err = remote_keep_ask(a->shard, &a->sql, &a->answer, why);
    rows = sf_row_reader_init(sf_buf_bytes(&a->answer));
    while (!err && sf_row_more(&rows)) {
        uint64_t batch = sf_row_binary_u64(&rows);
        if (!sf_list_room(&a->batches, a->n_batches, &a->cap_batches, 1024))
            return sf_no_memory(why, "a list of batches");
        a->batches[a->n_batches++] = batch;
    }
    return err ? err : sf_row_binary_check(&rows, why);
}

static void begin_row(struct attempt *a, bool has_day)
{
    sf_row_add_str(&a->rows, a->tenant);
    if (has_day)
        sf_buf_add_u16le(&a->rows, day_of(a));
    sf_buf_add_u32le(&a->rows, (uint32_t)a->v->head.hour);
    sf_buf_add_u64le(&a->rows, a->number);
}

static enum sf_err send_rows(struct attempt *a, const char *table, const char *columns,
                             struct sf_why *why)
{
    enum sf_shard_fault fault;
    char token[80];
    enum sf_err err;
    if (!a->rows.len)
        return SF_OK;
    sf_buf_reset(&a->sql);
    sf_buf_reset(&a->frame);
    sf_buf_print(&a->sql, "INSERT INTO %s.%s (%s) FORMAT RowBinary", a->r->database, table,
                 columns);
    snprintf(token, sizeof(token), "%016" PRIx64 ".%s", a->number, table);
    if (!sf_buf_ok(&a->rows) || !sf_buf_ok(&a->sql))
        return sf_no_memory(why, "rows of a verdict");
    err = sf_deflate_zstd(a->deflate, 1, true, sf_buf_bytes(&a->rows), &a->frame, why);
    if (!err)
        err = sf_shard_insert(a->shard, sf_buf_str(&a->sql), token, sf_buf_bytes(&a->frame), &fault,
                              why);
    sf_buf_reset(&a->rows);
    return err;
}

static enum sf_err send_verdict(struct attempt *a, struct sf_why *why)
{
    const struct sf_verdict *v = a->v;
    int64_t until_ns = 0;
    enum sf_err err;
    for (uint32_t i = 0; i < v->n_kept; i++) {
        const struct sf_verdict_entry *t = &v->traces[i];
        begin_row(a, true);
        sf_buf_add(&a->rows, t->id.b, 16);
        sf_buf_add_u16le(&a->rows, t->reasons);
        sf_buf_add_u16le(&a->rows, t->baseline_per_10000);
        sf_buf_add_varint(&a->rows, t->n_spans);
        for (uint32_t k = 0; k < t->n_spans; k++)
            sf_buf_add_u64le(&a->rows, v->spans[t->first_span + k]);
    }
    err = send_rows(a, "kept_traces",
                    "tenant, day, hour, attempt, trace_id, reasons, baseline, spans", why);
    for (uint32_t i = 0; !err && i < v->n_roots; i++) {
        const struct sf_verdict_root *x = &v->roots[i];
        bool is_first = i == 0 || v->roots[i - 1].process != x->process;
        until_ns = is_first || x->end_ns > until_ns ? x->end_ns : until_ns;
        begin_row(a, true);
        sf_buf_add_u64le(&a->rows, x->process);
        sf_buf_add_u64le(&a->rows, (uint64_t)x->start_ns);
        sf_buf_add_u64le(&a->rows, (uint64_t)until_ns);
    }
    if (!err)
        err = send_rows(a, "kept_roots", "tenant, day, hour, attempt, process, start_ns, until_ns",
                        why);
    for (uint32_t i = 0; !err && i < a->n_batches; i++) {
        begin_row(a, false);
        sf_buf_add_u64le(&a->rows, a->batches[i]);
    }
    return err ? err : send_rows(a, "judged_batches", "tenant, hour, attempt, batch", why);
}

/* ---- which samples are kept: as is_kept() of store/local/keep/thinning.c ---- */

/* Writes the condition that a 128-bit id, given as two halves, is in the share of the row's
 * service: base/trace_share.h. */
static void put_share(struct attempt *a, const char *low, const char *high)
{
    static const char mix[] = "arrayMap(v -> bitXor(v, bitShiftRight(v, 31)), arrayMap(v -> "
                              "bitXor(v, bitShiftRight(v, 27)) * 10723151780598845931, arrayMap(v "
                              "-> bitXor(v, bitShiftRight(v, 30)) * 13787848793156543929, [";
    const struct sf_keep_rules *rules = &a->v->rules;
    struct sf_buf *sql = &a->sql;
    sf_buf_print(sql, "%sbitXor(%stoUInt64(%s) + 11400714819323198485])))[1], %s)])))[1] < ", mix,
                 mix, low, high);
    sf_buf_print(sql, rules->n_services ? "multiIf(" : "(");
    for (uint32_t i = 0; i <= rules->n_services; i++) {
        bool is_last = i == rules->n_services;
        uint32_t share = is_last ? rules->all.baseline_per_10000
                                 : rules->services[i].rule.baseline_per_10000;
        unsigned __int128 most = (((unsigned __int128)share << 64) + 9999) / 10000;
        if (!is_last) {
            sf_buf_print(sql, "service = ");
            sf_remote_source_quote(sql, rules->services[i].service);
            sf_buf_print(sql, ", ");
        }
        sf_buf_print(sql, "toUInt64(%" PRIu64 ")%s", share >= 10000 ? UINT64_MAX : (uint64_t)most,
                     is_last ? ")" : ", ");
    }
}

/* What this attempt keeps, and what earlier attempts that count have kept. */
static void put_kept(struct attempt *a, const char *columns, const char *table)
{
    sf_buf_print(&a->sql, "(SELECT %s FROM %s.%s WHERE ", columns, a->r->database, table);
    put_which(a, "hour");
    sf_buf_print(&a->sql,
                 " AND (attempt = %" PRIu64 " OR attempt IN (SELECT attempt FROM %s.judged)))",
                 a->number, a->r->database);
}

static void put_rows(struct attempt *a, const char *more)
{
    sf_buf_print(&a->sql, " FROM %s." SF_SCHEMA_UNDECIDED " WHERE ", a->r->database);
    put_which(a, "intDiv(bucket, 3600)");
    sf_buf_print(&a->sql,
                 " AND batch IN (SELECT batch FROM %s.judged_batches WHERE attempt = "
                 "%" PRIu64 ")%s",
                 a->r->database, a->number, more);
}

#define NO_TRACE  "trace_id = toFixedString('', 16)"
#define HAS_TRACE "trace_id != toFixedString('', 16)"

static void put_insert(struct attempt *a)
{
    sf_buf_reset(&a->sql);
    sf_buf_print(&a->sql, "INSERT INTO %s.details (%s, attempt) SELECT %s, %" PRIu64,
                 a->r->database, sf_schema_table_columns(SF_SHIP_DETAILS),
                 sf_schema_table_columns(SF_SHIP_DETAILS), a->number);
}

static enum sf_err copy_named(struct attempt *a, struct sf_why *why)
{
    put_insert(a);
    put_rows(a, "");
    if (!a->v->head.is_whole) {
        sf_buf_print(&a->sql, " AND (is_request OR (" HAS_TRACE " AND (");
        put_share(a, "reinterpretAsUInt64(substring(trace_id, 1, 8))",
                  "reinterpretAsUInt64(substring(trace_id, 9, 8))");
        sf_buf_print(&a->sql, " OR trace_id IN ");
        put_kept(a, "trace_id", "kept_traces");
        sf_buf_print(&a->sql, ")) OR (span_id != 0 AND span_id IN ");
        put_kept(a, "arrayJoin(spans)", "kept_traces");
        sf_buf_print(&a->sql, ")");
        if (a->pins.round) {
            sf_buf_print(&a->sql, " OR ");
            sf_pin_set_where(&a->pins, a->r->database, true, &a->sql);
        }
        sf_buf_print(&a->sql, ")");
    }
    return remote_keep_run(a->shard, &a->sql, why);
}

/* Samples without ids belong to the spans that ran in their process at that time. If the process of
 * a root span is a guess, it is stored as the hash of the service only, which ClickHouse cannot
 * compute. */
static enum sf_err put_services(struct attempt *a, struct sf_buf *names, struct sf_buf *hashes,
                                struct sf_why *why)
{
    struct sf_row_reader rows;
    enum sf_err err;
    sf_buf_reset(&a->sql);
    sf_buf_print(&a->sql, "SELECT DISTINCT service");
    put_rows(a, " AND span_id = 0 AND " NO_TRACE " FORMAT RowBinary");
    err = remote_keep_ask(a->shard, &a->sql, &a->answer, why);
    rows = sf_row_reader_init(sf_buf_bytes(&a->answer));
    while (!err && sf_row_more(&rows)) {
        sf_str service = sf_row_binary_str(&rows);
        sf_buf_print(names, names->len ? ", " : "");
        sf_remote_source_quote(names, service);
        sf_buf_print(hashes, "%stoUInt64(%" PRIu64 ")", hashes->len ? ", " : "",
                     sf_process_hash(service, SF_STR_NONE));
    }
    return err ? err : sf_row_binary_check(&rows, why);
}

static void put_near(struct attempt *a, const char *by, const char *name)
{
    sf_buf_print(&a->sql, " ASOF LEFT JOIN ");
    put_kept(a, "process AS p, start_ns AS s, until_ns AS e", "kept_roots");
    sf_buf_print(&a->sql, " AS %s ON u.%s = %s.p AND u.row_end >= %s.s", name, by, name, name);
}

static enum sf_err copy_nameless(struct attempt *a, struct sf_why *why)
{
    const char *columns = sf_schema_table_columns(SF_SHIP_DETAILS);
    struct sf_buf names = {0}, hashes = {0};
    enum sf_err err = a->v->head.is_whole ? SF_OK : put_services(a, &names, &hashes, why);
    if (!err && names.len) {
        put_insert(a);
        sf_buf_print(&a->sql,
                     " FROM (SELECT u.*, a.p != 0 AND a.e >= u.start_ns AS is_near_a FROM "
                     "(SELECT %s, start_ns + length_ns AS row_end, "
                     "transform(toString(service), [%.*s], [%.*s], toUInt64(0)) AS "
                     "by_service",
                     columns, SF_STR_ARG(sf_buf_str(&names)), SF_STR_ARG(sf_buf_str(&hashes)));
        put_rows(a, " AND span_id = 0 AND NOT is_request AND " NO_TRACE);
        if (a->pins.round) { /* copied by the statement above */
            sf_buf_print(&a->sql, " AND NOT ");
            sf_pin_set_where(&a->pins, a->r->database, true, &a->sql);
        }
        sf_buf_print(&a->sql, ") AS u");
        put_near(a, "process", "a");
        sf_buf_print(&a->sql, ") AS u");
        put_near(a, "by_service", "b");
        sf_buf_print(&a->sql, " WHERE u.is_near_a OR (b.p != 0 AND b.e >= u.start_ns) OR ");
        put_share(a, "process", "toUInt64(intDiv(start_ns, 60000000000))");
        if (!sf_buf_ok(&names) || !sf_buf_ok(&hashes))
            err = sf_no_memory(why, "a statement");
        if (!err)
            err = remote_keep_run(a->shard, &a->sql, why);
    }
    sf_buf_done(&names);
    sf_buf_done(&hashes);
    return err;
}

/* ---- the row that makes an attempt count ---- */

struct confirming {
    struct attempt *attempt;
    int64_t grace_s;
};

static enum sf_err remote_keep_add_judged(void *arg, const char *token, struct sf_why *why)
{
    const struct confirming *c = arg;
    struct attempt *a = c->attempt;
    const struct sf_verdict *v = a->v;
    struct sf_buf rules = {0};
    uint8_t *hex;
    enum sf_err err;
    sf_keep_rules_encode(&v->rules, &rules);
    sf_buf_reset(&a->sql);
    sf_buf_print(&a->sql,
                 "INSERT INTO %s.judged (tenant, day, hour, round, attempt, is_whole, version, "
                 "rules, services, counts_at) SETTINGS async_insert = 0, insert_deduplicate = 1, "
                 "insert_deduplication_token = '%s' VALUES (",
                 a->r->database, token);
    sf_remote_source_quote(&a->sql, a->tenant);
    sf_buf_print(&a->sql,
                 ", toDate(%u), %" PRId64 ", %" PRIu64 ", %" PRIu64 ", %d, %" PRIu32 ", unhex('",
                 day_of(a), v->head.hour, a->round, a->number, v->head.is_whole, v->head.version);
    hex = sf_buf_ok(&rules) ? sf_buf_take(&a->sql, 2 * rules.len) : NULL;
    if (hex)
        sf_hex_encode(rules.p, rules.len, (char *)hex);
    sf_buf_print(&a->sql, "'), [");
    for (uint32_t i = 0; i < v->n_services; i++) {
        sf_buf_print(&a->sql, i ? ", " : "");
        sf_remote_source_quote(&a->sql, v->services[i]);
    }
    sf_buf_print(&a->sql, "], now() + %" PRId64 ")", c->grace_s);
    err = remote_keep_run(a->shard, &a->sql, why);
    sf_buf_done(&rules);
    return err;
}

static enum sf_err remote_keep_find_judged(void *arg, bool *out, struct sf_why *why)
{
    struct attempt *a = ((const struct confirming *)arg)->attempt;
    uint64_t n = 0;
    enum sf_err err;
    sf_buf_reset(&a->sql);
    sf_buf_print(&a->sql, "SELECT count() FROM %s.judged WHERE ", a->r->database);
    put_which(a, "hour");
    sf_buf_print(&a->sql, " AND round = %" PRIu64 " FORMAT RowBinary", a->round);
    err = sf_row_removal_ask(a->shard, &a->sql, &n, why);
    *out = n > 0;
    return err;
}

/* Writes the row that makes the attempt count, after `grace_s`. If another node was first, that
 * node's attempt counts. */
static enum sf_err confirm(struct attempt *a, int64_t grace_s, struct sf_why *why)
{
    struct confirming c = {a, grace_s};
    char token[80];
    snprintf(token, sizeof(token), "%016" PRIx64 ".%" PRId64 ".%" PRIu64, sf_hash_str(a->tenant),
             a->v->head.hour, a->round);
    return sf_first_row_put(&(struct sf_first_row){.shard = a->shard,
                                                   .token = token,
                                                   .insert = remote_keep_add_judged,
                                                   .find = remote_keep_find_judged,
                                                   .arg = &c},
                            why);
}

static enum sf_err put_on_shard(struct attempt *a, int64_t grace_s, struct sf_why *why)
{
    enum sf_err err = read_round(a, why);
    if (!err)
        err = read_batches(a, why);
    if (err || !a->n_batches)
        return err;
    err = send_verdict(a, why);
    if (!err)
        err = copy_named(a, why);
    if (!err)
        err = copy_nameless(a, why);
    return err ? err : confirm(a, grace_s, why);
}

static enum sf_err read_pins(const struct sf_remote_source *r, struct sf_pin_set *out,
                             struct sf_why *why)
{
    struct sf_query_ctx q = {0};
    struct sf_shard **shards = sf_heap_new_n(r->n_shards, sizeof(struct sf_shard *));
    enum sf_err err = shards ? SF_OK : sf_no_memory(why, "shards");
    for (uint32_t i = 0; !err && i < r->n_shards; i++)
        err = r->open(r->arg, i, &q, &shards[i], why);
    if (!err)
        err = sf_pin_set_spread(shards, r->n_shards, r->database, out, why);
    for (uint32_t i = 0; shards && i < r->n_shards; i++)
        sf_shard_close(shards[i]);
    sf_heap_free(shards);
    return err;
}

enum sf_err sf_remote_keep_put(const struct sf_remote_source *r, const struct sf_verdict *v,
                               int64_t grace_s, struct sf_why *why)
{
    struct sf_query_ctx q = {0};
    struct sf_pin_set pins = {0};
    struct sf_deflate *deflate = sf_deflate_new();
    enum sf_err err = deflate ? read_pins(r, &pins, why) : sf_no_memory(why, "a verdict");
    for (uint32_t i = 0; !err && i < r->n_shards; i++) {
        struct attempt a = {
            .r = r, .v = v, .pins = pins, .deflate = deflate, .answer = {.max = ANSWER_LEN}};
        if (!sf_local_tenant_name(r->store, v->head.tenant, &a.tenant))
            err = sf_fail(why, SF_ERR_NOT_FOUND, "this tenant has no name");
        if (!err)
            err = r->open(r->arg, i, &q, &a.shard, why);
        if (!err)
            err = put_on_shard(&a, grace_s, why);
        sf_shard_close(a.shard);
        sf_heap_free(a.batches);
        sf_buf_done(&a.sql);
        sf_buf_done(&a.answer);
        sf_buf_done(&a.rows);
        sf_buf_done(&a.frame);
    }
    sf_deflate_free(deflate);
    return err;
}

/* ---- clearing ---- */

/* A part that was meanwhile merged with another has a new name: it is found in the next pass. */
static void drop_part(struct sf_shard *shard, const char *database, sf_str part, uint64_t *io_n)
{
    struct sf_buf sql = {0}, where = {0}, by = {0};
    struct sf_row_removal removal = {
        .shard = shard, .database = database, .table = SF_SCHEMA_UNDECIDED, .rows_of = "details"};
    sf_buf_print(&where, "_part = '%.*s'", SF_STR_ARG(part));
    sf_buf_print(&by, "judged.%.*s", SF_STR_ARG(part));
    removal.where = sf_buf_str(&where);
    removal.by = sf_buf_str(&by);
    sf_buf_print(&sql, "ALTER TABLE %s." SF_SCHEMA_UNDECIDED " DROP PART '%.*s'", database,
                 SF_STR_ARG(part));
    if (sf_buf_ok(&where) && sf_buf_ok(&by) && !sf_row_removal_note(&removal, NULL) &&
        !remote_keep_run(shard, &sql, NULL))
        ++*io_n;
    sf_buf_done(&sql);
    sf_buf_done(&where);
    sf_buf_done(&by);
}

static enum sf_err remote_keep_drop_parts(struct sf_shard *shard, const char *database,
                                          int64_t grace_s, uint64_t *io_n, struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = 1 << 20};
    struct sf_row_reader rows;
    enum sf_err err;
    sf_buf_print(&sql,
                 "SELECT _part FROM %s." SF_SCHEMA_UNDECIDED
                 " GROUP BY _part HAVING countIf((tenant, intDiv(bucket, 3600), batch) NOT IN "
                 "(SELECT tenant, hour, batch FROM %s.judged_batches WHERE attempt IN (SELECT "
                 "attempt FROM %s.judged WHERE counts_at + %" PRId64
                 " <= now()))) = 0 LIMIT %d FORMAT RowBinary",
                 database, database, database, grace_s, MOST_PARTS);
    err = remote_keep_ask(shard, &sql, &answer, why);
    rows = sf_row_reader_init(sf_buf_bytes(&answer));
    while (!err && sf_row_more(&rows)) {
        sf_str part = sf_row_binary_str(&rows);
        err = sf_row_binary_check(&rows, why);
        if (!err)
            drop_part(shard, database, part, io_n);
    }
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    return err;
}

/* Deletes the lists of batches of hours that have no undecided samples. */
static enum sf_err drop_lists(struct sf_shard *shard, const char *database, struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = 1 << 20};
    struct sf_row_reader rows;
    enum sf_err err;
    sf_buf_print(&sql,
                 "SELECT DISTINCT partition_id FROM system.parts WHERE active AND database = '%s' "
                 "AND table = 'judged_batches' AND rows > 0 AND modification_time < now() - %d AND "
                 "partition_id NOT IN (SELECT partition_id FROM system.parts WHERE active AND "
                 "database = '%s' AND table = '" SF_SCHEMA_UNDECIDED
                 "' AND rows > 0) FORMAT RowBinary",
                 database, STALE_S, database);
    err = remote_keep_ask(shard, &sql, &answer, why);
    rows = sf_row_reader_init(sf_buf_bytes(&answer));
    while (!err && sf_row_more(&rows)) {
        sf_str id = sf_row_binary_str(&rows);
        err = sf_row_binary_check(&rows, why);
        sf_buf_reset(&sql);
        sf_buf_print(&sql, "ALTER TABLE %s.judged_batches DROP PARTITION ID '%.*s'", database,
                     SF_STR_ARG(id));
        if (!err)
            err = remote_keep_run(shard, &sql, why);
    }
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    return err;
}

/* Deletes copies of attempts that never counted: their nodes were killed, or another was first. */
static enum sf_err drop_copies(struct sf_shard *shard, const char *database, struct sf_why *why)
{
    char where[320];
    struct sf_row_removal removal = {.shard = shard, .database = database, .table = "details"};
    uint64_t n = 0;
    enum sf_err err;
    snprintf(
        where, sizeof(where),
        "attempt != 0 AND bitShiftRight(attempt, 32) + %d < toUnixTimestamp(now()) AND attempt "
        "NOT IN (SELECT attempt FROM %s.judged)",
        STALE_S, database);
    removal.where = sf_str_from(where);
    err = sf_row_removal_count(&removal, &n, why);
    return err || !n ? err : sf_row_removal_delete(&removal, why);
}

enum sf_err sf_remote_keep_clear(struct sf_shard *shard, const char *database, int64_t grace_s,
                                 uint64_t *io_n_dropped, struct sf_why *why)
{
    enum sf_err err = remote_keep_drop_parts(shard, database, grace_s, io_n_dropped, why);
    if (!err)
        err = drop_lists(shard, database, why);
    return err ? err : drop_copies(shard, database, why);
}
