/* batch_check.c - compares the rows of `batches`, which state what was sent, with the number of
 * rows per batch in the tables.
 *
 * Rows that were deleted later are counted in `removed`. A row that was not sent because of an
 * erasure may be counted there as well, so missing rows are a fault only if more are missing than
 * were removed. Batches of a node follow each other without a gap, since a batch begins with the
 * record after the end of the previous one. A batch without rows on a shard has its row of
 * `batches` there all the same. */
#include "store/clickhouse/batch_check.h"

#include <inttypes.h>

#include "base/list.h"
#include "base/table.h"
#include "base/text.h"
#include "store/clickhouse/schema.h"
#include "wire/row_binary.h"

enum { ANSWER_LEN = 64 << 20 };

struct sent {
    uint64_t batch, first, last;
    uint64_t n[SF_REMOTE_TABLES], found[SF_REMOTE_TABLES], removed[SF_REMOTE_TABLES];
};

struct checking {
    struct sf_shard *shard;
    const char *database;
    char node[33];
    uint32_t number;
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
    return sf_shard_ask(c->shard, sf_buf_str(&c->sql), c->q->deadline_ns, &c->answer, why);
}

static void add_which(struct checking *c)
{
    sf_buf_print(
        &c->sql,
        "FROM %s.batches WHERE node = unhex('%s') AND shard = %u AND received_ns >= %" PRId64,
        c->database, c->node, c->number, c->io->since_ns);
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

static void batch_check_compare(struct checking *c)
{
    for (uint32_t i = 0; i < c->n_sent; i++) {
        const struct sent *s = &c->sent[i];
        struct sf_remote_fault fault = {
            .shard = c->number, .first_record = s->first, .last_record = s->last};
        if (i && s->first != c->sent[i - 1].last + 1) {
            fault.n_sent = s->first > c->sent[i - 1].last ? s->first - c->sent[i - 1].last - 1 : 0;
            batch_check_note(c, &fault);
        }
        for (size_t t = 0; t < SF_REMOTE_TABLES; t++) {
            c->io->n_rows += s->found[t];
            if (s->found[t] <= s->n[t] && s->n[t] - s->found[t] <= s->removed[t])
                continue;
            fault.table = sf_remote_table_name(t);
            fault.n_sent = s->n[t];
            fault.n_found = s->found[t];
            batch_check_note(c, &fault);
        }
    }
    c->io->n_batches += c->n_sent;
}

enum sf_err sf_batch_check(struct sf_shard *shard, const char *database, const uint8_t node[16],
                           uint32_t number, struct sf_query_ctx *q, struct sf_remote_check *io,
                           struct sf_why *why)
{
    struct checking c = {.shard = shard,
                         .database = database,
                         .number = number,
                         .q = q,
                         .io = io,
                         .answer = {.max = ANSWER_LEN}};
    enum sf_err err = SF_OK;
    sf_hex_encode(node, 16, c.node);
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
        batch_check_compare(&c);
    sf_table_done(&c.at);
    sf_buf_done(&c.sql);
    sf_buf_done(&c.answer);
    return err;
}
