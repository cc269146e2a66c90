#include "store/clickhouse/shard_state.h"

#include "store/clickhouse/schema.h"
#include "wire/row_binary.h"

static enum sf_err ask_parts(struct sf_shard *shard, const char *database, int64_t deadline_ns,
                             struct sf_remote_shard *out, struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = 4096};
    struct sf_row_reader r;
    enum sf_err err;
    sf_buf_print(&sql,
                 "SELECT toUInt64(sum(rows)), toUInt64(sum(bytes_on_disk)), toUInt64(count()) FROM "
                 "system.parts WHERE active AND database = '%s' FORMAT RowBinary",
                 database);
    err = sf_shard_ask(shard, sf_buf_str(&sql), deadline_ns, &answer, why);
    r = sf_row_reader_init(sf_buf_bytes(&answer));
    if (!err) {
        out->n_rows = sf_row_binary_u64(&r);
        out->n_bytes = sf_row_binary_u64(&r);
        out->n_parts = sf_row_binary_u64(&r);
        err = sf_row_binary_check(&r, why);
    }
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    return err;
}

enum sf_err sf_shard_state_ask(struct sf_shard *shard, const char *database, struct sf_query_ctx *q,
                               struct sf_remote_shard *out, struct sf_why *why)
{
    char version[SF_SHARD_VERSION_CAP] = "";
    struct sf_why own = {0};
    enum sf_err err = sf_shard_probe(shard, version, &own);
    if (!err)
        err = sf_schema_version(shard, database, &out->schema, &own);
    if (!err)
        err = ask_parts(shard, database, q->deadline_ns, out, &own);
    if (!sf_arena_copy(q->req, sf_str_from(version), &out->version) ||
        (err && !sf_arena_copy(q->req, sf_str_from(own.text), &out->error)))
        return sf_no_room(why, "the state of the shards");
    return SF_OK;
}
