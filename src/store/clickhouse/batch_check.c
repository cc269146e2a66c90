/* batch_check.c - compares the rows of `batches`, which state what was sent, with the number of
 * rows per batch in the tables.
 *
 * Rows that were deleted later are counted in `removed`. A row that was not sent because of an
 * erasure may be counted there as well, so missing rows are a fault only if more are missing than
 * were removed. Batches of a node follow each other without a gap, since a batch begins with the
 * record after the end of the previous one; the last one ends with the last record that the node
 * has shipped. A batch without rows on a shard has its row of `batches` there all the same. When
 * retention drops the batches of a day, it leaves the last record of each node in `removed`. */
#include "store/clickhouse/batch_check.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/list.h"
#include "base/table.h"
#include "base/text.h"
#include "store/clickhouse/remote_source.h"
#include "store/clickhouse/row_removal.h"
#include "store/clickhouse/schema.h"
#include "wire/row_binary.h"

enum { ANSWER_LEN = 64 << 20 };

struct sent {
    uint64_t batch, first, last;
    uint64_t n[SF_REMOTE_TABLES], found[SF_REMOTE_TABLES], removed[SF_REMOTE_TABLES];
};

struct checking {
    const struct sf_batch_checking *which;
    const char *database;
    char node[33];
    struct sf_query_ctx *q;
    struct sf_remote_check *io;
    struct sent *sent; /* by first record */
    uint32_t n_sent, cap;
    struct sf_table at;
    struct sf_remote_fault *faults;
    struct sf_buf sql, answer;
};

static enum sf_err batch_check_ask(struct checking *c, struct sf_why *why)
{
    if (!sf_buf_ok(&c->sql))
        return sf_no_memory(why, "a statement");
    sf_buf_reset(&c->answer);
    return sf_shard_ask(c->which->shard, sf_buf_str(&c->sql), c->q->deadline_ns, &c->answer, why);
}

static void add_which(struct checking *c)
{
    sf_buf_print(
        &c->sql,
        "FROM %s.batches WHERE node = unhex('%s') AND shard = %u AND received_ns >= %" PRId64,
        c->database, c->node, c->which->number, c->io->since_ns);
}

static enum sf_err read_sent(struct checking *c, struct sf_why *why)
{
    struct sf_row_reader r;
    enum sf_err err;
    sf_buf_reset(&c->sql);
    sf_buf_print(&c->sql, "SELECT batch, first_record, last_record, traces, spans, profiles, "
                          "aggregates, details ");
    add_which(c);
    sf_buf_print(&c->sql, " ORDER BY first_record FORMAT RowBinary");
    err = batch_check_ask(c, why);
    r = sf_row_reader_init(sf_buf_bytes(&c->answer));
    while (!err && sf_row_more(&r)) {
        struct sent s = {.batch = sf_row_binary_u64(&r)};
        s.first = sf_row_binary_u64(&r);
        s.last = sf_row_binary_u64(&r);
        for (size_t i = 0; i < SF_REMOTE_TABLES; i++)
            s.n[i] = sf_row_binary_u64(&r);
        if (!sf_table_more(&c->at) ||
            !sf_list_room_in(c->q->req, &c->sent, c->n_sent, &c->cap, 1024))
            return sf_no_room(why, "the list of batches");
        sf_table_put(&c->at, sf_key_u64(s.batch), c->n_sent);
        c->sent[c->n_sent++] = s;
    }
    return err ? err : sf_row_binary_check(&r, why);
}

/* Adds answers of (batch, n) to the counts of rows found or removed. */
static enum sf_err take_counts(struct checking *c, size_t table, bool is_removed,
                               struct sf_why *why)
{
    struct sf_row_reader r;
    enum sf_err err = batch_check_ask(c, why);
    r = sf_row_reader_init(sf_buf_bytes(&c->answer));
    while (!err && sf_row_more(&r)) {
        uint64_t batch = sf_row_binary_u64(&r), n = sf_row_binary_u64(&r);
        struct sf_table_lookup lookup = sf_table_lookup(&c->at, sf_key_u64(batch));
        uint32_t at;
        while (sf_table_next(&lookup, &at)) {
            if (c->sent[at].batch == batch)
                *(is_removed ? &c->sent[at].removed[table] : &c->sent[at].found[table]) += n;
        }
    }
    return err ? err : sf_row_binary_check(&r, why);
}

static void put_count(struct checking *c, const char *table, const char *more)
{
    sf_buf_print(&c->sql, "SELECT batch, count() FROM %s.%s WHERE %sday >= (SELECT min(from_day) ",
                 c->database, table, more);
    add_which(c);
    sf_buf_print(&c->sql, ") AND batch IN (SELECT batch ");
    add_which(c);
    sf_buf_print(&c->sql, ") GROUP BY batch");
}

/* Counts samples in the table they were sent to; kept ones are copied to `details` with an
 * attempt. */
static enum sf_err batch_check_count_table(struct checking *c, size_t table, struct sf_why *why)
{
    sf_str name = sf_remote_table_name(table);
    bool is_detail = sf_str_eq(name, SF_STR("details"));
    sf_buf_reset(&c->sql);
    put_count(c, name.p, is_detail ? "attempt = 0 AND " : "");
    if (is_detail) {
        sf_buf_print(&c->sql, " UNION ALL ");
        put_count(c, SF_SCHEMA_UNDECIDED, "");
    }
    sf_buf_print(&c->sql, " FORMAT RowBinary");
    return take_counts(c, table, false, why);
}

static enum sf_err count_removed(struct checking *c, size_t table, struct sf_why *why)
{
    sf_buf_reset(&c->sql);
    sf_buf_print(&c->sql,
                 "SELECT batch, toUInt64(sum(most)) FROM (SELECT batch, by, max(n) AS most FROM "
                 "%s.removed WHERE rows_of = '%s' AND batch IN (SELECT batch ",
                 c->database, sf_remote_table_name(table).p);
    add_which(c);
    sf_buf_print(&c->sql, ") GROUP BY batch, by) GROUP BY batch FORMAT RowBinary");
    return take_counts(c, table, true, why);
}

static void batch_check_note(struct checking *c, const struct sf_remote_fault *fault)
{
    if (c->io->n_listed < SF_REMOTE_FAULTS)
        c->faults[c->io->n_listed++] = *fault;
    c->io->n_faults++;
}

/* ---- records without a batch ---- */

/* Asks for the last record of batches that `where` selects, and of batches of this node that were
 * dropped for their age (`by` is "age.DAY.SHARDS"). */
static enum sf_err batch_check_last(struct checking *c, struct sf_shard *shard, const char *where,
                                    const char *removed, uint64_t *out, struct sf_why *why)
{
    sf_buf_reset(&c->sql);
    sf_buf_print(
        &c->sql,
        "SELECT max(last) FROM (SELECT max(last_record) AS last FROM %s.batches WHERE node = "
        "unhex('%s') AND %s UNION ALL SELECT max(n) AS last FROM %s.removed WHERE rows_of = "
        "'batches' AND bitShiftRight(batch, %d) = %" PRIu32 "%s) FORMAT RowBinary",
        c->database, c->node, where, c->database, 64 - SF_BATCH_NODE_BITS,
        sf_remote_source_node(c->which->node), removed);
    return sf_row_removal_ask(shard, &c->sql, out, why);
}

/* The last record before those that are checked; `*out_is_known` false: cannot be told. */
static enum sf_err batch_check_before(struct checking *c, uint64_t *out, bool *out_is_known,
                                      struct sf_why *why)
{
    char where[120], removed[120];
    uint64_t own = 0, narrow = 0;
    enum sf_err err;
    snprintf(where, sizeof(where), "shard = %u AND received_ns < %" PRId64, c->which->number,
             c->io->since_ns);
    err = batch_check_last(c, c->which->shard, where, "", &own, why);
    if (!err && !own && c->which->number > 1) { /* a shard that was added later */
        snprintf(where, sizeof(where), "shards < %u", c->which->number);
        snprintf(removed, sizeof(removed), " AND toUInt32OrZero(splitByChar('.', by)[3]) < %u",
                 c->which->number);
        err = batch_check_last(c, c->which->first, where, removed, &narrow, why);
    }
    *out_is_known = own || narrow || c->which->extent.first_record;
    *out = own ? own : narrow ? narrow : 0;
    if (!*out && c->which->extent.first_record)
        *out = c->which->extent.first_record - 1;
    return err;
}

static void batch_check_absent(struct checking *c, uint64_t first, uint64_t last)
{
    struct sf_remote_fault fault = {
        .shard = c->which->number, .first_record = first, .last_record = last};
    if (first <= last)
        batch_check_note(c, &fault);
}

static enum sf_err batch_check_follow(struct checking *c, struct sf_why *why)
{
    const struct sf_ship_extent *extent = &c->which->extent;
    uint64_t last = 0;
    bool is_known = false;
    enum sf_err err = batch_check_before(c, &last, &is_known, why);
    if (err)
        return err;
    for (uint32_t i = 0; i < c->n_sent; i++) {
        if (i || is_known)
            batch_check_absent(c, last + 1, c->sent[i].first - 1);
        last = c->sent[i].last > last ? c->sent[i].last : last;
    }
    if (c->n_sent || (is_known && extent->received_ns >= c->io->since_ns))
        batch_check_absent(c, last + 1, extent->last_record);
    return SF_OK;
}

static void batch_check_compare(struct checking *c)
{
    for (uint32_t i = 0; i < c->n_sent; i++) {
        const struct sent *s = &c->sent[i];
        for (size_t t = 0; t < SF_REMOTE_TABLES; t++) {
            struct sf_remote_fault fault = {.shard = c->which->number,
                                            .first_record = s->first,
                                            .last_record = s->last,
                                            .table = sf_remote_table_name(t),
                                            .n_sent = s->n[t],
                                            .n_found = s->found[t]};
            c->io->n_rows += s->found[t];
            if (s->found[t] > s->n[t] || s->n[t] - s->found[t] > s->removed[t])
                batch_check_note(c, &fault);
        }
    }
    c->io->n_batches += c->n_sent;
}

enum sf_err sf_batch_check(const struct sf_batch_checking *which, struct sf_query_ctx *q,
                           struct sf_remote_check *io, struct sf_why *why)
{
    struct checking c = {.which = which,
                         .database = which->database,
                         .q = q,
                         .io = io,
                         .answer = {.max = ANSWER_LEN}};
    enum sf_err err = SF_OK;
    sf_hex_encode(which->node, 16, c.node);
    c.faults = io->faults ? (struct sf_remote_fault *)(uintptr_t)io->faults
                          : sf_arena_new_n(q->req, SF_REMOTE_FAULTS, sizeof(*c.faults));
    if (!c.faults)
        return sf_no_room(why, "the list of faults");
    io->faults = c.faults;
    err = read_sent(&c, why);
    for (size_t t = 0; !err && c.n_sent && t < SF_REMOTE_TABLES; t++)
        err = batch_check_count_table(&c, t, why);
    for (size_t t = 0; !err && c.n_sent && t < SF_REMOTE_TABLES; t++)
        err = count_removed(&c, t, why);
    if (!err)
        err = batch_check_follow(&c, why);
    if (!err)
        batch_check_compare(&c);
    sf_table_done(&c.at);
    sf_buf_done(&c.sql);
    sf_buf_done(&c.answer);
    return err;
}
