#include "store/clickhouse/shared_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/limits.h"
#include "os/random.h"
#include "store/clickhouse/first_row.h"
#include "store/clickhouse/remote_source.h"
#include "store/clickhouse/row_removal.h"
#include "wire/deflate.h"
#include "wire/row_binary.h"

static void shared_text_put_name(struct sf_buf *sql, const struct sf_shared_text *t)
{
    sf_buf_print(sql, "kind = ");
    sf_remote_source_quote(sql, t->kind);
    sf_buf_print(sql, " AND tenant = ");
    sf_remote_source_quote(sql, t->tenant);
    sf_buf_print(sql, " AND name = ");
    sf_remote_source_quote(sql, t->name);
}

enum sf_err sf_shared_text_get(struct sf_shard *first, const char *database,
                               struct sf_shared_text *io, struct sf_buf *answer, struct sf_why *why)
{
    struct sf_buf sql = {0};
    struct sf_row_reader r;
    enum sf_err err;
    sf_buf_print(&sql, "SELECT version, is_gone, ends_ns, body FROM %s.shared WHERE ", database);
    shared_text_put_name(&sql, io);
    sf_buf_print(&sql, " ORDER BY version DESC LIMIT 1 FORMAT RowBinary");
    sf_buf_reset(answer);
    answer->max = SF_SHARED_TEXT_LEN;
    err = sf_buf_ok(&sql) ? sf_shard_ask(first, sf_buf_str(&sql), 0, answer, why)
                          : sf_no_memory(why, "a statement");
    sf_buf_done(&sql);
    if (err)
        return err;
    io->version = 0;
    io->is_gone = false;
    io->ends_ns = 0;
    io->body = SF_STR_NONE;
    r = sf_row_reader_init(sf_buf_bytes(answer));
    if (!sf_row_more(&r))
        return SF_OK;
    io->version = sf_row_binary_u64(&r);
    io->is_gone = sf_row_binary_u8(&r) != 0;
    io->ends_ns = (int64_t)sf_row_binary_u64(&r);
    io->body = sf_row_binary_str(&r);
    return sf_row_binary_check(&r, why);
}

/* ---- a change ---- */

struct putting { /* of one call */
    struct sf_shard *first;
    const char *database;
    const struct sf_shared_text *text;
    uint64_t mark;           /* of this change */
    uint64_t found;          /* the mark of the version that it makes; 0: there is none */
    struct sf_buf sql, rows; /* the insert; `rows` are compressed */
};

static enum sf_err shared_text_insert(void *arg, const char *token, struct sf_why *why)
{
    struct putting *p = arg;
    enum sf_shard_fault fault;
    return sf_shard_insert(p->first, sf_buf_str(&p->sql), token, sf_buf_bytes(&p->rows), &fault,
                           why);
}

/* Merges delete versions that have a successor: such a version was there, too, and its mark is
 * read as 1, which is never the mark of a change. */
static enum sf_err shared_text_find(void *arg, bool *out, struct sf_why *why)
{
    struct putting *p = arg;
    uint64_t version = p->text->version + 1;
    struct sf_buf sql = {0};
    enum sf_err err;
    sf_buf_print(&sql,
                 "SELECT if(countIf(version = %" PRIu64 ") > 0, maxIf(mark, version = %" PRIu64
                 "), toUInt64(countIf(version > %" PRIu64 ") > 0)) FROM %s.shared WHERE ",
                 version, version, version, p->database);
    shared_text_put_name(&sql, p->text);
    sf_buf_print(&sql, " FORMAT RowBinary");
    err = sf_row_removal_ask(p->first, &sql, &p->found, why);
    sf_buf_done(&sql);
    *out = !err && p->found;
    return err;
}

static enum sf_err shared_text_make(struct putting *p, struct sf_why *why)
{
    const struct sf_shared_text *t = p->text;
    struct sf_deflate *deflate = sf_deflate_new();
    struct sf_buf row = {0};
    enum sf_err err = deflate ? SF_OK : sf_no_memory(why, "a text");
    if (t->body.len > SF_SHARED_TEXT_LEN)
        err = sf_fail(why, SF_ERR_LIMIT, "a text that nodes share has more than %d MiB",
                      SF_SHARED_TEXT_LEN >> 20);
    sf_buf_print(&p->sql,
                 "INSERT INTO %s.shared (kind, tenant, name, version, mark, is_gone, ends_ns, "
                 "body) FORMAT RowBinary",
                 p->database);
    sf_row_add_str(&row, t->kind);
    sf_row_add_str(&row, t->tenant);
    sf_row_add_str(&row, t->name);
    sf_buf_add_u64le(&row, t->version + 1);
    sf_buf_add_u64le(&row, p->mark);
    sf_buf_add_u8(&row, t->is_gone);
    sf_buf_add_u64le(&row, (uint64_t)t->ends_ns);
    sf_row_add_str(&row, t->body);
    if (!err && (!sf_buf_ok(&row) || !sf_buf_ok(&p->sql)))
        err = sf_no_memory(why, "a text");
    if (!err)
        err = sf_deflate_zstd(deflate, 1, true, sf_buf_bytes(&row), &p->rows, why);
    sf_deflate_free(deflate);
    sf_buf_done(&row);
    return err;
}

enum sf_err sf_shared_text_put(struct sf_shard *first, const char *database,
                               const struct sf_shared_text *t, struct sf_why *why)
{
    uint64_t key = sf_hash_mix(sf_hash_mix(sf_hash_str(t->kind), sf_hash_str(t->tenant)),
                               sf_hash_str(t->name));
    struct putting p = {
        .first = first, .database = database, .text = t, .mark = sf_random_u64() | 2};
    char token[48];
    enum sf_err err = shared_text_make(&p, why);
    snprintf(token, sizeof(token), "%016" PRIx64 ".%" PRIu64, key, t->version + 1);
    if (!err)
        err = sf_first_row_put(&(struct sf_first_row){.shard = first,
                                                      .token = token,
                                                      .insert = shared_text_insert,
                                                      .find = shared_text_find,
                                                      .arg = &p},
                               why);
    if (!err && p.found != p.mark)
        err = sf_fail(why, SF_ERR_BUSY, "another node changed this at the same time; try again");
    sf_buf_done(&p.sql);
    sf_buf_done(&p.rows);
    return err;
}

enum sf_err sf_shared_text_list(struct sf_shard *first, const char *database, sf_str kind,
                                int64_t since_ms,
                                enum sf_err (*see)(void *arg, const struct sf_shared_text *text,
                                                   struct sf_why *why),
                                void *arg, int64_t *io_ms, struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = SF_SHARED_TEXT_LEN};
    struct sf_row_reader r;
    int64_t newest_ms = *io_ms;
    enum sf_err err;
    sf_buf_print(&sql,
                 "SELECT tenant, name, version, is_gone, ends_ns, body, "
                 "toUnixTimestamp64Milli(at) FROM %s.shared WHERE kind = ",
                 database);
    sf_remote_source_quote(&sql, kind);
    if (since_ms)
        sf_buf_print(&sql, " AND toUnixTimestamp64Milli(at) >= %" PRId64, since_ms);
    sf_buf_print(&sql, " ORDER BY version DESC LIMIT 1 BY tenant, name FORMAT RowBinary");
    err = sf_buf_ok(&sql) ? sf_shard_ask(first, sf_buf_str(&sql), 0, &answer, why)
                          : sf_no_memory(why, "a statement");
    r = sf_row_reader_init(sf_buf_bytes(&answer));
    while (!err && sf_row_more(&r)) {
        struct sf_shared_text t = {.kind = kind};
        int64_t at_ms;
        t.tenant = sf_row_binary_str(&r);
        t.name = sf_row_binary_str(&r);
        t.version = sf_row_binary_u64(&r);
        t.is_gone = sf_row_binary_u8(&r) != 0;
        t.ends_ns = (int64_t)sf_row_binary_u64(&r);
        t.body = sf_row_binary_str(&r);
        at_ms = (int64_t)sf_row_binary_u64(&r);
        err = sf_row_binary_check(&r, why);
        if (!err)
            err = see(arg, &t, why);
        newest_ms = at_ms > newest_ms ? at_ms : newest_ms;
    }
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    if (!err)
        *io_ms = newest_ms;
    return err;
}

enum sf_err sf_shared_text_tidy(struct sf_shard *first, const char *database, struct sf_why *why)
{
    char where[120];
    struct sf_row_removal removal = {.shard = first, .database = database, .table = "shared"};
    uint64_t n = 0;
    enum sf_err err;
    snprintf(where, sizeof(where),
             "ends_ns != 0 AND intDiv(ends_ns, 1000000000) + %d < toUnixTimestamp(now())",
             SF_LIMIT_SHIP_AGE_DAYS * 86400);
    removal.where = sf_str_from(where);
    err = sf_row_removal_count(&removal, &n, why);
    return err || !n ? err : sf_row_removal_delete(&removal, why);
}
