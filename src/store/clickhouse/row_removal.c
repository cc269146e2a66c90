#include "store/clickhouse/row_removal.h"

#include "wire/row_binary.h"

enum sf_err sf_row_removal_ask(struct sf_shard *shard, struct sf_buf *sql, uint64_t *out,
                               struct sf_why *why)
{
    struct sf_buf answer = {.max = 4096};
    struct sf_row_reader r;
    uint64_t n = 0;
    enum sf_err err = sf_buf_ok(sql) ? sf_shard_ask(shard, sf_buf_str(sql), 0, &answer, why)
                                     : sf_no_memory(why, "a statement");
    r = sf_row_reader_init(sf_buf_bytes(&answer));
    if (!err) {
        n = sf_row_binary_u64(&r);
        err = sf_row_binary_check(&r, why);
    }
    sf_buf_done(&answer);
    if (!err)
        *out = n;
    return err;
}

static enum sf_err row_removal_run(struct sf_shard *shard, struct sf_buf *sql, struct sf_why *why)
{
    enum sf_err err = sf_buf_ok(sql) ? sf_shard_run(shard, sf_buf_str(sql), why)
                                     : sf_no_memory(why, "a statement");
    sf_buf_done(sql);
    return err;
}

enum sf_err sf_row_removal_count(const struct sf_row_removal *r, uint64_t *out, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err;
    sf_buf_print(&sql, "SELECT count() FROM %s.%s WHERE %.*s FORMAT RowBinary", r->database,
                 r->table, SF_STR_ARG(r->where));
    err = sf_row_removal_ask(r->shard, &sql, out, why);
    sf_buf_done(&sql);
    return err;
}

enum sf_err sf_row_removal_note(const struct sf_row_removal *r, struct sf_why *why)
{
    struct sf_buf sql = {0};
    sf_buf_print(&sql,
                 "INSERT INTO %s.removed (batch, rows_of, by, day, n) SELECT batch, '%s', '%.*s', "
                 "today(), count() FROM %s.%s WHERE %.*s GROUP BY batch",
                 r->database, r->rows_of ? r->rows_of : r->table, SF_STR_ARG(r->by), r->database,
                 r->table, SF_STR_ARG(r->where));
    return row_removal_run(r->shard, &sql, why);
}

enum sf_err sf_row_removal_delete(const struct sf_row_removal *r, struct sf_why *why)
{
    struct sf_buf sql = {0};
    sf_buf_print(&sql, "ALTER TABLE %s.%s DELETE WHERE %.*s SETTINGS mutations_sync = 2",
                 r->database, r->table, SF_STR_ARG(r->where));
    return row_removal_run(r->shard, &sql, why);
}
