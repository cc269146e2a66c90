#include "store/clickhouse/stored_rows.h"

#include <inttypes.h>

#include "store/clickhouse/row_removal.h"

static bool stored_rows_is_detail(const struct sf_stored_rows *r)
{
    return r->table == SF_SHIP_DETAILS;
}

/* Which rows of the table the batch has. Samples that were judged are copied to `details` with an
 * attempt; those count where they were sent to. */
static void stored_rows_put_where(const struct sf_stored_rows *r, struct sf_buf *sql)
{
    sf_buf_print(sql, "batch = %" PRIu64, r->batch);
    if (r->table != SF_SHIP_BATCHES)
        sf_buf_print(sql, " AND day BETWEEN toDate(%u) AND toDate(%u)", r->from_day, r->to_day);
    if (stored_rows_is_detail(r))
        sf_buf_print(sql, " AND attempt = 0");
}

static void put_found(const struct sf_stored_rows *r, struct sf_buf *sql)
{
    sf_buf_print(sql, "SELECT toUInt64(sum(n)) FROM (SELECT count() AS n FROM %s.%s WHERE ",
                 r->database, sf_schema_table_name(r->table));
    stored_rows_put_where(r, sql);
    if (stored_rows_is_detail(r))
        sf_buf_print(sql,
                     " UNION ALL SELECT count() AS n FROM %s." SF_SCHEMA_UNDECIDED
                     " WHERE batch = %" PRIu64,
                     r->database, r->batch);
    sf_buf_print(sql, ") FORMAT RowBinary");
}

static void put_removed(const struct sf_stored_rows *r, struct sf_buf *sql)
{
    sf_buf_print(sql,
                 "SELECT toUInt64(sum(most)) FROM (SELECT max(n) AS most FROM %s.removed WHERE "
                 "batch = %" PRIu64 " AND rows_of = '%s' GROUP BY by) FORMAT RowBinary",
                 r->database, r->batch, sf_schema_table_name(r->table));
}

static enum sf_err stored_rows_number(const struct sf_stored_rows *r,
                                      void (*put)(const struct sf_stored_rows *, struct sf_buf *),
                                      uint64_t *out, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err;
    put(r, &sql);
    err = sf_row_removal_ask(r->shard, &sql, out, why);
    sf_buf_done(&sql);
    return err;
}

enum sf_err sf_stored_rows_ask(const struct sf_stored_rows *r, uint64_t n_sent, enum sf_stored *out,
                               struct sf_why *why)
{
    uint64_t found = 0, removed = 0;
    /* One partition is stored whole or not at all. Samples have a partition for each hour. */
    bool has_partitions = r->from_day < r->to_day || stored_rows_is_detail(r);
    enum sf_err err = stored_rows_number(r, put_found, &found, why);
    if (!err && found < n_sent && r->table != SF_SHIP_BATCHES)
        err = stored_rows_number(r, put_removed, &removed, why);
    if (err)
        return err;
    if (found <= n_sent && n_sent - found <= removed)
        *out = SF_STORED_ALL;
    else if (!found)
        *out = SF_STORED_NONE;
    else
        *out = has_partitions && r->table != SF_SHIP_BATCHES ? SF_STORED_SOME : SF_STORED_OTHER;
    return SF_OK;
}

enum sf_err sf_stored_rows_delete(const struct sf_stored_rows *r, struct sf_why *why)
{
    struct sf_buf where = {0}, batch = {0};
    struct sf_row_removal removal = {
        .shard = r->shard, .database = r->database, .table = sf_schema_table_name(r->table)};
    enum sf_err err;
    stored_rows_put_where(r, &where);
    sf_buf_print(&batch, "batch = %" PRIu64, r->batch);
    if (!sf_buf_ok(&where) || !sf_buf_ok(&batch)) {
        err = sf_no_memory(why, "a statement");
    } else {
        removal.where = sf_buf_str(&where);
        err = sf_row_removal_delete(&removal, why);
        if (!err && stored_rows_is_detail(r)) {
            removal.table = SF_SCHEMA_UNDECIDED;
            removal.where = sf_buf_str(&batch);
            err = sf_row_removal_delete(&removal, why);
        }
    }
    sf_buf_done(&where);
    sf_buf_done(&batch);
    return err;
}
