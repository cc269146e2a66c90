/* remote_erase.c - erasures of a fleet: writes and reads the tables `erasures` and
 * `erasure_acks`, and deletes the selected rows on shards. remote_erase.h describes the
 * protocol. */
#include "store/clickhouse/remote_erase.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/text.h"
#include "os/random.h"
#include "store/clickhouse/remote_source.h"
#include "store/clickhouse/row_removal.h"
#include "store/local/local.h"
#include "wire/row_binary.h"

enum { ANSWER_LEN = 64 << 20, FRESH_S = 600 };

/* ---- statements ---- */

static enum sf_err remote_erase_run(struct sf_shard *shard, struct sf_buf *sql, struct sf_why *why)
{
    enum sf_err err = sf_buf_ok(sql) ? sf_shard_run(shard, sf_buf_str(sql), why)
                                     : sf_no_memory(why, "a statement");
    sf_buf_done(sql);
    return err;
}

static void put_hex(struct sf_buf *sql, const void *p, size_t len)
{
    uint8_t *to;
    sf_buf_print(sql, "unhex('");
    to = sf_buf_take(sql, 2 * len);
    if (to)
        sf_hex_encode(p, len, (char *)to);
    sf_buf_print(sql, "')");
}

static enum sf_err add_ack(struct sf_shard *first, const char *database, uint64_t id,
                           const uint8_t node[16], uint64_t last_record, bool is_done,
                           struct sf_why *why)
{
    struct sf_buf sql = {0};
    sf_buf_print(&sql,
                 "INSERT INTO %s.erasure_acks (id, node, last_record, is_done) SETTINGS "
                 "async_insert = 0 VALUES (%" PRIu64 ", ",
                 database, id);
    put_hex(&sql, node, 16);
    sf_buf_print(&sql, ", %" PRIu64 ", %d)", last_record, is_done);
    return remote_erase_run(first, &sql, why);
}

/* ---- rows ---- */

enum names { BY_TRACE = 1, BY_SERVICE = 2, BY_LIST = 4 };

static const struct erased_table {
    const char *name, *rows_of; /* rows_of: counted as rows of that table; NULL: its own */
    unsigned has;               /* enum names: the columns it has */
} tables[] = {
    {"spans", NULL, BY_TRACE | BY_SERVICE},
    {"traces", NULL, BY_TRACE | BY_LIST},
    {"details", NULL, BY_TRACE | BY_SERVICE},
    {SF_SCHEMA_UNDECIDED, "details", BY_TRACE | BY_SERVICE},
    {"profiles", NULL, BY_SERVICE},
    {"aggregates", NULL, BY_SERVICE},
};

/* False: the table has no rows that can be selected so. */
static bool remote_erase_put_where(struct sf_buf *sql, const struct erased_table *t, sf_str tenant,
                                   const struct sf_selector *which)
{
    if (which->what == SF_SELECT_TRACES && !(t->has & BY_TRACE))
        return false;
    sf_buf_print(sql, "tenant = ");
    sf_remote_source_quote(sql, tenant);
    if (which->from_ns > 0)
        sf_buf_print(sql, " AND start_ns >= %" PRId64, which->from_ns);
    if (which->to_ns > 0)
        sf_buf_print(sql, " AND start_ns <= %" PRId64, which->to_ns);
    if (which->what == SF_SELECT_SERVICE) {
        sf_buf_print(sql, t->has & BY_LIST ? " AND has(services, " : " AND (service = ");
        sf_remote_source_quote(sql, which->service);
        sf_buf_print(sql, ")");
    } else if (which->what == SF_SELECT_TRACES) {
        sf_buf_print(sql, " AND trace_id IN (");
        for (uint32_t i = 0; i < which->n_traces; i++) {
            sf_buf_print(sql, i ? ", toFixedString(" : "toFixedString(");
            put_hex(sql, which->trace_ids[i].b, 16);
            sf_buf_print(sql, ", 16)");
        }
        sf_buf_print(sql, ")");
    }
    return true;
}

static enum sf_err erase_table(struct sf_row_removal *r, uint64_t id, uint64_t *io_n,
                               struct sf_why *why)
{
    char by[60];
    uint64_t n = 0;
    enum sf_err err = sf_row_removal_count(r, &n, why);
    if (err || !n)
        return err;
    *io_n += n;
    snprintf(by, sizeof(by), "erase.%016" PRIx64 ".%" PRIu64, id, n);
    r->by = sf_str_from(by);
    err = sf_row_removal_note(r, why);
    if (!err)
        err = sf_row_removal_delete(r, why);
    if (!err)
        err = sf_row_removal_count(r, &n, why);
    if (!err && n)
        err = sf_fail(why, SF_ERR_IO, "%.80s: %" PRIu64 " rows of %s are still there",
                      sf_shard_address(r->shard), n, r->table);
    return err;
}

/* A row of `traces` stands for spans of several services: it stays for the others, without what it
 * says of the erased one. */
static enum sf_err remote_erase_from_traces(struct sf_row_removal *r, sf_str service,
                                            struct sf_why *why)
{
    struct sf_buf sql = {0}, name = {0}, where = {0};
    uint64_t n = 0;
    sf_str all = r->where;
    enum sf_err err;
    sf_remote_source_quote(&name, service);
    sf_buf_print(&where, "%.*s AND length(services) > 1", SF_STR_ARG(all));
    r->where = sf_buf_str(&where);
    err = sf_buf_ok(&where) && sf_buf_ok(&name) ? sf_row_removal_count(r, &n, why)
                                                : sf_no_memory(why, "a statement");
    if (!err && n) {
        sf_str x = sf_buf_str(&name);
        sf_buf_print(&sql,
                     "ALTER TABLE %s.%s UPDATE services = arrayFilter(x -> x != %.*s, services), "
                     "root_name = if(root_service = %.*s, '', root_name), root_service = "
                     "if(root_service = %.*s, '', root_service) WHERE %.*s SETTINGS mutations_sync "
                     "= 2",
                     r->database, r->table, SF_STR_ARG(x), SF_STR_ARG(x), SF_STR_ARG(x),
                     SF_STR_ARG(r->where));
        err = remote_erase_run(r->shard, &sql, why);
    }
    r->where = all;
    sf_buf_done(&name);
    sf_buf_done(&where);
    return err;
}

enum sf_err sf_remote_erase_rows(struct sf_shard *shard, const char *database, uint64_t id,
                                 sf_str tenant, const struct sf_selector *which, sf_str old,
                                 uint64_t *io_n, struct sf_why *why)
{
    struct sf_buf where = {0};
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++) {
        struct sf_row_removal r = {.shard = shard,
                                   .database = database,
                                   .table = tables[i].name,
                                   .rows_of = tables[i].rows_of};
        sf_buf_reset(&where);
        if (!remote_erase_put_where(&where, &tables[i], tenant, which))
            continue;
        sf_buf_add_str(&where, old);
        r.where = sf_buf_str(&where);
        err = sf_buf_ok(&where) ? SF_OK : sf_no_memory(why, "a statement");
        if (!err && tables[i].has & BY_LIST && which->what == SF_SELECT_SERVICE &&
            which->from_ns <= 0 && which->to_ns <= 0)
            err = remote_erase_from_traces(&r, which->service, why);
        if (!err)
            err = erase_table(&r, id, io_n, why);
    }
    sf_buf_done(&where);
    return err;
}

/* ---- an erasure as it is written down ---- */

struct erasure {
    uint64_t id;
    sf_str tenant;
    struct sf_selector which;
    sf_trace_id *ids; /* owned */
};

/* The strings are borrowed from the answer. */
static enum sf_err read_erasure(struct sf_row_reader *r, struct erasure *out, struct sf_why *why)
{
    sf_str selector;
    enum sf_err err;
    out->id = sf_row_binary_u64(r);
    out->tenant = sf_row_binary_str(r);
    selector = sf_row_binary_str(r);
    out->ids = NULL;
    err = sf_row_binary_check(r, why);
    if (err)
        return err;
    out->ids = sf_heap_new_n(selector.len / sizeof(sf_trace_id) + 1, sizeof(sf_trace_id));
    if (!out->ids)
        return sf_no_memory(why, "an erasure");
    err = sf_tombstones_selector_decode(sf_str_bytes(selector), out->ids, &out->which, why);
    if (err)
        sf_heap_free(out->ids);
    return err;
}

enum sf_err sf_remote_erase_begin(struct sf_shard *first, const char *database,
                                  struct sf_store *store, uint32_t tenant,
                                  const struct sf_selector *which, uint64_t newest_lsn,
                                  uint64_t *out_id, struct sf_why *why)
{
    struct sf_buf sql = {0}, selector = {0};
    uint64_t id = 0;
    sf_str name;
    enum sf_err err;
    if (!sf_local_tenant_name(store, tenant, &name))
        return sf_fail(why, SF_ERR_NOT_FOUND, "this tenant has no name");
    err = sf_store_local_ops.erase(store, tenant, which, why);
    if (err)
        return err;
    sf_random_fill(&id, sizeof(id));
    id |= 1;
    sf_tombstones_selector_encode(which, &selector);
    sf_buf_print(&sql,
                 "INSERT INTO %s.erasures (id, tenant, selector) SETTINGS async_insert = 0 VALUES "
                 "(%" PRIu64 ", ",
                 database, id);
    put_hex(&sql, name.p, name.len);
    sf_buf_print(&sql, ", ");
    put_hex(&sql, selector.p, selector.len);
    sf_buf_print(&sql, ")");
    if (!sf_buf_ok(&selector))
        err = sf_no_memory(why, "an erasure");
    /* First this node's acknowledgement, so that it does not erase again. */
    if (!err)
        err = add_ack(first, database, id, sf_local_uuid(store), newest_lsn, false, why);
    if (!err)
        err = remote_erase_run(first, &sql, why);
    else
        sf_buf_done(&sql);
    sf_buf_done(&selector);
    if (!err)
        *out_id = id;
    return err;
}

/* ---- learning ---- */

void sf_remote_erase_done(struct sf_remote_erase *e)
{
    sf_tombstones_unref(e->open);
    sf_heap_free(e->known);
    *e = (struct sf_remote_erase){0};
}

static enum sf_err take_tombstone(struct sf_remote_erase *e, const struct sf_tombstone *more,
                                  uint64_t drop_id, struct sf_why *why)
{
    struct sf_tombstones *list = sf_tombstones_with(e->open, more, drop_id);
    if (!list)
        return sf_no_memory(why, "an erasure");
    sf_tombstones_unref(e->open);
    e->open = list;
    return SF_OK;
}

/* Records that are shipped need no check against these erasures any more. */
static enum sf_err forget_shipped(struct sf_remote_erase *e, uint64_t shipped_lsn,
                                  struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t i = sf_tombstones_n(e->open); !err && i-- > 0;) {
        const struct sf_tombstone *t = sf_tombstones_get(e->open, i);
        if (t->below_block <= shipped_lsn + 1)
            err = take_tombstone(e, NULL, t->id, why);
    }
    return err;
}

bool sf_remote_erase_is_end(const struct sf_remote_erase *e, uint64_t lsn)
{
    for (size_t i = 0; e->open && i < sf_tombstones_n(e->open); i++) {
        if (sf_tombstones_get(e->open, i)->below_block == lsn + 1)
            return true;
    }
    return false;
}

static void put_known(const struct sf_remote_erase *e, struct sf_buf *sql)
{
    for (uint32_t i = 0; i < e->n_known; i++)
        sf_buf_print(sql, "%s%" PRIu64, i ? ", " : " AND e.id NOT IN (", e->known[i]);
    sf_buf_print(sql, e->n_known ? ")" : "");
}

static enum sf_err learn_one(struct sf_remote_erase *e, const struct erasure *x, bool is_acked,
                             uint64_t last_record, struct sf_shard *first, const char *database,
                             struct sf_store *store, const uint8_t *node, struct sf_why *why)
{
    struct sf_tombstone t = {.id = x->id, .below_block = last_record + 1, .which = x->which};
    bool has_tenant = store->ops->tenant(store, x->tenant, false, &t.tenant, NULL) == SF_OK;
    enum sf_err err = SF_OK;
    if (!is_acked && has_tenant)
        err = sf_store_local_ops.erase(store, t.tenant, &x->which, why);
    if (!err && !is_acked)
        err = add_ack(first, database, x->id, node, last_record, false, why);
    if (!err && has_tenant)
        err = take_tombstone(e, &t, 0, why);
    if (!err && !sf_list_room(&e->known, e->n_known, &e->cap_known, 16))
        err = sf_no_memory(why, "an erasure");
    if (!err)
        e->known[e->n_known++] = x->id;
    return err;
}

enum sf_err sf_remote_erase_learn(struct sf_remote_erase *e, struct sf_shard *first,
                                  const char *database, struct sf_store *store, const uint8_t *node,
                                  uint64_t newest_lsn, uint64_t shipped_lsn, struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = ANSWER_LEN};
    struct sf_row_reader r;
    enum sf_err err = forget_shipped(e, shipped_lsn, why);
    sf_buf_print(
        &sql,
        "SELECT e.id, e.tenant, e.selector, a.n, a.last FROM %s.erasures AS e LEFT JOIN "
        "(SELECT id, count() AS n, min(last_record) AS last FROM %s.erasure_acks WHERE NOT "
        "is_done AND node = ",
        database, database);
    put_hex(&sql, node, 16);
    sf_buf_print(&sql, " GROUP BY id) AS a ON e.id = a.id WHERE e.at > now() - %d",
                 SF_LIMIT_SHIP_AGE_DAYS * 86400);
    put_known(e, &sql);
    sf_buf_print(&sql, " FORMAT RowBinary");
    if (!err)
        err = sf_buf_ok(&sql) ? sf_shard_ask(first, sf_buf_str(&sql), 0, &answer, why)
                              : sf_no_memory(why, "a statement");
    r = sf_row_reader_init(sf_buf_bytes(&answer));
    while (!err && sf_row_more(&r)) {
        struct erasure x;
        uint64_t n_acks, last;
        err = read_erasure(&r, &x, why);
        if (err)
            break;
        n_acks = sf_row_binary_u64(&r);
        last = sf_row_binary_u64(&r);
        err = sf_row_binary_check(&r, why);
        if (!err)
            err = learn_one(e, &x, n_acks > 0, n_acks ? last : newest_lsn, first, database, store,
                            node, why);
        sf_heap_free(x.ids);
    }
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    return err;
}

/* ---- upkeep ---- */

/* A node that shipped recently may still send rows that the erasure names, until it has shipped its
 * log up to the end that it recorded. A batch reaches one shard after the other, so its last record
 * on the first shard says nothing about the others. */
struct remote_erase_wait {
    struct sf_shard *const *shards;
    uint32_t n_shards;
    const char *database;
    uint64_t id;
    struct sf_buf nodes; /* those that the first shard has everything of: "(node, last_record), ..."
                            and the number of shards that they send to */
};

/* Counts the nodes that the first shard lacks records of; lists the others. */
static enum sf_err remote_erase_ask_nodes(struct remote_erase_wait *w, uint64_t *out,
                                          struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = ANSWER_LEN};
    struct sf_row_reader r;
    enum sf_err err;
    *out = 0;
    sf_buf_print(&sql,
                 "SELECT b.node, b.shards, a.last, toUInt8(a.n = 0 OR a.last > b.shipped) FROM "
                 "(SELECT node, max(last_record) AS shipped, argMax(shards, last_record) AS shards "
                 "FROM %s.batches WHERE day >= today() - %d GROUP BY node) AS b LEFT JOIN (SELECT "
                 "node, count() AS n, min(last_record) AS last FROM %s.erasure_acks WHERE NOT "
                 "is_done AND id = %" PRIu64
                 " GROUP BY node) AS a ON a.node = b.node FORMAT RowBinary",
                 w->database, SF_LIMIT_SHIP_AGE_DAYS, w->database, w->id);
    err = sf_buf_ok(&sql) ? sf_shard_ask(w->shards[0], sf_buf_str(&sql), 0, &answer, why)
                          : sf_no_memory(why, "a statement");
    r = sf_row_reader_init(sf_buf_bytes(&answer));
    while (!err && sf_row_more(&r)) {
        sf_str node = sf_row_binary_fixed(&r, 16);
        uint16_t n_shards = sf_row_binary_u16(&r);
        uint64_t last = sf_row_binary_u64(&r);
        bool is_waiting = sf_row_binary_u8(&r) != 0;
        err = sf_row_binary_check(&r, why);
        if (err)
            break;
        if (is_waiting) {
            ++*out;
            continue;
        }
        sf_buf_print(&w->nodes, "%s(toFixedString(", w->nodes.len ? ", " : "");
        put_hex(&w->nodes, node.p, node.len);
        sf_buf_print(&w->nodes, ", 16), toUInt64(%" PRIu64 "), toUInt16(%u))", last, n_shards);
    }
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    return err;
}

static enum sf_err count_waiting(struct remote_erase_wait *w, uint64_t *out, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err = remote_erase_ask_nodes(w, out, why);
    for (uint32_t i = 1; !err && w->nodes.len && i < w->n_shards; i++) {
        uint64_t n = 0;
        sf_buf_reset(&sql);
        sf_buf_print(
            &sql, "SELECT countIf(w.x.3 > %u AND w.x.2 > b.shipped) FROM (SELECT arrayJoin([", i);
        sf_buf_add_str(&sql, sf_buf_str(&w->nodes));
        sf_buf_print(&sql,
                     "]) AS x, x.1 AS node) AS w LEFT JOIN (SELECT node, max(last_record) AS "
                     "shipped FROM %s.batches WHERE day >= today() - %d GROUP BY node) AS b ON "
                     "w.node = b.node FORMAT RowBinary",
                     w->database, SF_LIMIT_SHIP_AGE_DAYS);
        err = sf_buf_ok(&w->nodes) ? sf_row_removal_ask(w->shards[i], &sql, &n, why)
                                   : sf_no_memory(why, "a statement");
        *out += n;
    }
    sf_buf_done(&sql);
    sf_buf_done(&w->nodes);
    return err;
}

/* Writes the condition for rows that are not new data, from what the nodes recorded. */
static enum sf_err remote_erase_put_old(struct sf_shard *first, const char *database, uint64_t id,
                                        struct sf_buf *out, struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = ANSWER_LEN};
    struct sf_row_reader r;
    enum sf_err err;
    sf_buf_print(&sql,
                 "SELECT node, min(last_record) FROM %s.erasure_acks WHERE NOT is_done AND id = "
                 "%" PRIu64 " GROUP BY node FORMAT RowBinary",
                 database, id);
    err = sf_buf_ok(&sql) ? sf_shard_ask(first, sf_buf_str(&sql), 0, &answer, why)
                          : sf_no_memory(why, "a statement");
    r = sf_row_reader_init(sf_buf_bytes(&answer));
    while (!err && sf_row_more(&r)) {
        sf_str node = sf_row_binary_fixed(&r, 16);
        uint64_t last = sf_row_binary_u64(&r);
        err = sf_row_binary_check(&r, why);
        if (!err)
            sf_remote_source_before(sf_remote_source_node((const uint8_t *)node.p), last, out);
    }
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    return err || sf_buf_ok(out) ? err : sf_no_memory(why, "a statement");
}

static enum sf_err remote_erase_finish(struct sf_shard *const *shards, uint32_t n_shards,
                                       const char *database, const struct erasure *x,
                                       const uint8_t node[16], bool may_rest, bool *out_is_done,
                                       struct sf_why *why)
{
    struct remote_erase_wait wait = {
        .shards = shards, .n_shards = n_shards, .database = database, .id = x->id};
    struct sf_buf old = {0};
    uint64_t n_waiting = 0, n = 0;
    /* Count before the pass: then no row can arrive after it. */
    enum sf_err err = count_waiting(&wait, &n_waiting, why);
    *out_is_done = false;
    if (err || (n_waiting && may_rest))
        return err;
    err = remote_erase_put_old(shards[0], database, x->id, &old, why);
    for (uint32_t i = 0; !err && i < n_shards; i++)
        err = sf_remote_erase_rows(shards[i], database, x->id, x->tenant, &x->which,
                                   sf_buf_str(&old), &n, why);
    sf_buf_done(&old);
    if (!err && !n_waiting)
        err = add_ack(shards[0], database, x->id, node, 0, true, why);
    *out_is_done = !err && !n_waiting;
    return err;
}

enum sf_err sf_remote_erase_work(struct sf_shard *const *shards, uint32_t n_shards,
                                 const char *database, const uint8_t node[16], bool is_slow,
                                 uint64_t *out_n_open, struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = ANSWER_LEN};
    struct sf_row_reader r;
    uint64_t n_open = 0;
    enum sf_err err;
    sf_buf_print(
        &sql,
        "SELECT id, tenant, selector, toUInt8(at > now() - %d) FROM %s.erasures WHERE at > "
        "now() - %d AND id NOT IN (SELECT id FROM %s.erasure_acks WHERE is_done) FORMAT "
        "RowBinary",
        FRESH_S, database, SF_LIMIT_SHIP_AGE_DAYS * 86400, database);
    err = sf_buf_ok(&sql) ? sf_shard_ask(shards[0], sf_buf_str(&sql), 0, &answer, why)
                          : sf_no_memory(why, "a statement");
    r = sf_row_reader_init(sf_buf_bytes(&answer));
    while (!err && sf_row_more(&r)) {
        struct erasure x;
        bool is_fresh, is_done = false;
        err = read_erasure(&r, &x, why);
        if (err)
            break;
        is_fresh = sf_row_binary_u8(&r) != 0;
        err = sf_row_binary_check(&r, why);
        if (!err)
            err = remote_erase_finish(shards, n_shards, database, &x, node, !is_fresh && !is_slow,
                                      &is_done, why);
        n_open += !is_done;
        sf_heap_free(x.ids);
    }
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    if (!err)
        *out_n_open = n_open;
    return err;
}
