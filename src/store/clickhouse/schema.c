/* schema.c - the SQL of the tables in ClickHouse. Version 1 creates the tables that are shipped;
 * each later version is a step of statements that can be repeated. schema.h says how versions
 * are handled. */
#include "store/clickhouse/schema.h"

#include <inttypes.h>
#include <string.h>

#include "wire/row_binary.h"

/* Settings for tables whose rows must be stored exactly once. The deduplication window counts
 * inserts of all nodes: 10,000 are more than an hour of ten nodes; before it repeats one, a node
 * asks what the shard has (stored_rows.h). Rows that a node counts as shipped must survive a power
 * cut of the shard. */
#define COUNTED                                                                       \
    " SETTINGS non_replicated_deduplication_window = 10000, fsync_after_insert = 1, " \
    "fsync_part_directory = 1"
#define LOOKED_UP ", index_granularity = 1024"

struct table {
    const char *name, *columns, *body; /* `body`: from the column types to the end */
    const char *types;                 /* of `columns`, for native_block.h; NULL: RowBinary */
};

/* Times are the sender's, in nanoseconds; `day` and `bucket` (of 300 s) are derived from a time
 * that is never far from the time of receipt, so that a wrong clock does not create partitions. */
static const struct table tables[SF_SHIP_TABLES] = {
    [SF_SHIP_RESOURCES] =
        {"resources", "tenant, day, resource, service, keys, vals, body",
         "(tenant LowCardinality(String), day Date, resource UInt64, service "
         "LowCardinality(String), "
         "keys Array(LowCardinality(String)), vals Array(String), body String CODEC(ZSTD(3))) "
         "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY (tenant, service, resource)",
         NULL},
    [SF_SHIP_SCOPES] =
        {"scopes", "tenant, day, scope, name, version, body",
         "(tenant LowCardinality(String), day Date, scope UInt64, name LowCardinality(String), "
         "version LowCardinality(String), body String CODEC(ZSTD(3))) "
         "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY (tenant, scope)",
         NULL},
    [SF_SHIP_SERIES] =
        {"series", "tenant, day, service, type, series, keys, vals",
         "(tenant LowCardinality(String), day Date, service LowCardinality(String), "
         "type LowCardinality(String), series UInt64, keys Array(LowCardinality(String)), "
         "vals Array(String)) "
         "ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY (tenant, service, type, series)",
         NULL},
    [SF_SHIP_FRAMES] =
        {"frames",
         "tenant, day, frame, functions, system_names, files, lines, start_lines, module, "
         "build_id, "
         "address, kind",
         "(tenant LowCardinality(String), day Date, frame UInt64, "
         "functions Array(String) CODEC(ZSTD(1)), system_names Array(String) CODEC(ZSTD(1)), "
         "files Array(String) CODEC(ZSTD(1)), lines Array(UInt32), start_lines Array(UInt32), "
         "module LowCardinality(String), build_id LowCardinality(String), address UInt64, kind "
         "UInt8) ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY (tenant, frame) "
         "SETTINGS index_granularity = 1024",
         NULL},
    [SF_SHIP_STACKS] =
        {"stacks", "tenant, day, stack, frames",
         "(tenant LowCardinality(String), day Date, stack UInt64, frames Array(UInt64) "
         "CODEC(ZSTD(1))) ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY (tenant, stack) "
         "SETTINGS index_granularity = 1024",
         NULL},
    [SF_SHIP_TRACES] =
        {"traces",
         "tenant, day, trace_id, start_ns, end_ns, services, root_service, root_name, spans, "
         "errors, batch, first_bucket, last_bucket",
         "(tenant LowCardinality(String), day Date, trace_id FixedString(16), start_ns UInt64, "
         "end_ns UInt64, services Array(LowCardinality(String)), "
         "root_service LowCardinality(String), root_name LowCardinality(String), spans UInt32, "
         "errors UInt32, batch UInt64 CODEC(ZSTD(1))) "
         "ENGINE = MergeTree PARTITION BY day ORDER BY (tenant, trace_id)" COUNTED LOOKED_UP,
         "sDF88*sss44844"},
    [SF_SHIP_SPANS] =
        {"spans",
         "tenant, day, bucket, service, name, start_ns, duration_ns, trace_id, span_id, parent_id, "
         "kind, status, status_message, resource, scope, sk, sv, ik, iv, dk, dv, xk, xv, "
         "attr_types, flags, trace_state, event_ns, event_name, rest, batch",
         "(tenant LowCardinality(String), day Date, bucket UInt32 CODEC(Delta, ZSTD(1)), "
         "service LowCardinality(String) CODEC(ZSTD(1)), name LowCardinality(String) "
         "CODEC(ZSTD(1)), start_ns UInt64 CODEC(Delta, ZSTD(1)), duration_ns Int64 CODEC(T64, "
         "ZSTD(1)), "
         "trace_id FixedString(16) CODEC(ZSTD(1)), span_id UInt64 CODEC(NONE), "
         "parent_id UInt64 CODEC(ZSTD(1)), kind UInt8 CODEC(ZSTD(1)), status UInt8, "
         "status_message String CODEC(ZSTD(1)), resource UInt64 CODEC(ZSTD(1)), "
         "scope UInt64 CODEC(ZSTD(1)), sk Array(LowCardinality(String)) CODEC(ZSTD(1)), "
         "sv Array(String) CODEC(ZSTD(3)), ik Array(LowCardinality(String)) CODEC(ZSTD(1)), "
         "iv Array(Int64) CODEC(ZSTD(1)), dk Array(LowCardinality(String)) CODEC(ZSTD(1)), "
         "dv Array(Float64) CODEC(ZSTD(1)), xk Array(LowCardinality(String)) CODEC(ZSTD(1)), "
         "xv Array(String) CODEC(ZSTD(1)), attr_types LowCardinality(String) CODEC(ZSTD(1)), "
         "flags UInt32 CODEC(ZSTD(1)), trace_state String CODEC(ZSTD(1)), "
         "event_ns Array(UInt64) CODEC(ZSTD(1)), event_name Array(LowCardinality(String)), "
         "rest String CODEC(ZSTD(3)), batch UInt64 CODEC(ZSTD(1)), "
         "INDEX by_service service TYPE set(64) GRANULARITY 1, "
         "INDEX by_value arrayConcat(sv, xk) TYPE bloom_filter(0.03) GRANULARITY 2) "
         "ENGINE = MergeTree PARTITION BY day ORDER BY (tenant, bucket, trace_id, "
         "start_ns)" COUNTED,
         "sD4ss8iF8811S88*s*S*s*i*s*d*s*Ss4S*8*sS8"},
    [SF_SHIP_PROFILES] =
        {"profiles",
         "tenant, day, service, type, series, process, process_key, start_ns, duration_ns, period, "
         "profile_id, total, samples, is_guess, is_request, is_diff, batch",
         "(tenant LowCardinality(String), day Date, service LowCardinality(String), "
         "type LowCardinality(String), series UInt64 CODEC(ZSTD(1)), process UInt64 "
         "CODEC(ZSTD(1)), "
         "process_key LowCardinality(String), start_ns Int64 CODEC(Delta, ZSTD(1)), "
         "duration_ns Int64 CODEC(ZSTD(1)), period Int64 CODEC(ZSTD(1)), "
         "profile_id FixedString(16) CODEC(ZSTD(1)), total Int64 CODEC(ZSTD(1)), "
         "samples UInt64 CODEC(ZSTD(1)), is_guess UInt8, is_request UInt8, is_diff UInt8, "
         "batch UInt64 CODEC(ZSTD(1))) "
         "ENGINE = MergeTree PARTITION BY day ORDER BY (tenant, service, type, start_ns)" COUNTED,
         "sDss88siiiFi81118"},
    [SF_SHIP_AGGREGATES] =
        {"aggregates",
         "tenant, day, service, type, start_ns, series, process, stack, value, samples, "
         "is_request, "
         "batch",
         "(tenant LowCardinality(String), day Date, service LowCardinality(String), "
         "type LowCardinality(String), start_ns Int64 CODEC(Delta, ZSTD(1)), "
         "series UInt64 CODEC(ZSTD(1)), process UInt64 CODEC(ZSTD(1)), stack UInt64 "
         "CODEC(ZSTD(1)), "
         "value Int64 CODEC(T64, ZSTD(1)), samples UInt64 CODEC(T64, ZSTD(1)), is_request UInt8, "
         "batch UInt64 CODEC(ZSTD(1))) "
         "ENGINE = MergeTree PARTITION BY day ORDER BY (tenant, service, type, start_ns, series, "
         "stack)" COUNTED,
         "sDssi888i818"},
    [SF_SHIP_DETAILS] =
        {"details",
         "tenant, day, bucket, span_id, process, thread, start_ns, length_ns, service, type, "
         "series, "
         "trace_id, stack, value, samples, state, runtime_thread, thread_name, has_time, is_lent, "
         "is_kernel_thread, process_key, is_guess, is_request, batch",
         "(tenant LowCardinality(String), day Date, bucket UInt32 CODEC(Delta, ZSTD(1)), "
         "span_id UInt64 CODEC(ZSTD(1)), process UInt64 CODEC(ZSTD(1)), thread UInt64 "
         "CODEC(ZSTD(1)), start_ns Int64 CODEC(Delta, ZSTD(1)), length_ns Int64 CODEC(ZSTD(1)), "
         "service LowCardinality(String), type LowCardinality(String), series UInt64 "
         "CODEC(ZSTD(1)), trace_id FixedString(16) CODEC(ZSTD(1)), stack UInt64 CODEC(ZSTD(1)), "
         "value Int64 CODEC(ZSTD(1)), samples UInt32 CODEC(ZSTD(1)), state UInt8 CODEC(ZSTD(1)), "
         "runtime_thread UInt64 CODEC(ZSTD(1)), thread_name LowCardinality(String), has_time "
         "UInt8, "
         "is_lent UInt8, is_kernel_thread UInt8, batch UInt64 CODEC(ZSTD(1)), "
         "INDEX by_trace trace_id TYPE bloom_filter(0.01) GRANULARITY 1) "
         "ENGINE = MergeTree PARTITION BY day ORDER BY (tenant, bucket, span_id, process, thread, "
         "start_ns)" COUNTED LOOKED_UP,
         "sD4888iiss8F8i418s111s118"},
    [SF_SHIP_BATCHES] =
        {"batches",
         "node, batch, shard, shards, first_record, last_record, day, from_day, to_day, "
         "received_ns, "
         "traces, spans, profiles, aggregates, details",
         "(node FixedString(16), batch UInt64, shard UInt16, shards UInt16, first_record UInt64, "
         "last_record UInt64, day Date, from_day Date, to_day Date, received_ns Int64, "
         "traces UInt64, spans UInt64, profiles UInt64, aggregates UInt64, details UInt64) "
         "ENGINE = MergeTree PARTITION BY day ORDER BY (node, first_record)" COUNTED,
         NULL},
};

const char *sf_schema_table_name(enum sf_ship_table table)
{
    return tables[table].name;
}

void sf_schema_table_insert(enum sf_ship_table table, const char *database, struct sf_buf *out)
{
    sf_buf_print(out, "INSERT INTO %s.%s (%s) FORMAT %s", database, tables[table].name,
                 tables[table].columns, tables[table].types ? "Native" : "RowBinary");
}

void sf_schema_undecided_insert(const char *database, struct sf_buf *out)
{
    sf_buf_print(out, "INSERT INTO %s." SF_SCHEMA_UNDECIDED " (%s) FORMAT Native", database,
                 tables[SF_SHIP_DETAILS].columns);
}

const char *sf_schema_table_columns(enum sf_ship_table table)
{
    return tables[table].columns;
}

const char *sf_schema_table_types(enum sf_ship_table table)
{
    return tables[table].types;
}

/* ---- versions ---- */

/* A step is a list of statements. Each may have run before, if a node stopped in the middle or two
 * nodes run it at once. */
static enum sf_err step_1(const char *database,
                          enum sf_err (*run)(void *arg, struct sf_buf *sql, struct sf_why *why),
                          void *arg, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err;
    sf_buf_print(&sql, "CREATE DATABASE IF NOT EXISTS %s", database);
    err = run(arg, &sql, why);
    for (size_t i = 0; !err && i < SF_SHIP_TABLES; i++) {
        sf_buf_reset(&sql);
        sf_buf_print(&sql, "CREATE TABLE IF NOT EXISTS %s.%s %s", database, tables[i].name,
                     tables[i].body);
        err = run(arg, &sql, why);
    }
    if (!err) {
        sf_buf_reset(&sql);
        sf_buf_print(&sql,
                     "CREATE TABLE IF NOT EXISTS %s.schema_version (version UInt32, at DateTime "
                     "DEFAULT now()) ENGINE = ReplacingMergeTree ORDER BY version",
                     database);
        err = run(arg, &sql, why);
    }
    sf_buf_done(&sql);
    return err;
}

typedef enum sf_err sf_schema_step(const char *database,
                                   enum sf_err (*run)(void *arg, struct sf_buf *sql,
                                                      struct sf_why *why),
                                   void *arg, struct sf_why *why);

/* Columns of a sample's profile that readers need with the sample. */
static enum sf_err step_2(const char *database,
                          enum sf_err (*run)(void *arg, struct sf_buf *sql, struct sf_why *why),
                          void *arg, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err;
    sf_buf_print(&sql,
                 "ALTER TABLE %s.details ADD COLUMN IF NOT EXISTS process_key "
                 "LowCardinality(String), ADD COLUMN IF NOT EXISTS is_guess UInt8, ADD COLUMN IF "
                 "NOT EXISTS is_request UInt8",
                 database);
    err = run(arg, &sql, why);
    sf_buf_done(&sql);
    return err;
}

/* Coordination between nodes, and later changes of rows. Tables of `control` have rows on the first
 * shard only; the others are on each shard.
 *
 *   leases      which node does work that must be done once: the first row of a term counts
 *               (lease.h)
 *   erasures    what was erased, for nodes whose logs may still hold it; `erasure_acks`: the end
 *               of a node's log when it learned of the erasure (remote_erase.h)
 *   removed     how many rows of a batch were deleted, and why: used by store verify */
static const char *const step_3_tables[] = {
    "leases (name LowCardinality(String), term UInt64, node FixedString(16), at DateTime64(3) "
    "DEFAULT now64(3)) ENGINE = ReplacingMergeTree(at) ORDER BY (name, term) SETTINGS "
    "non_replicated_deduplication_window = 1000",
    "erasures (id UInt64, tenant String, selector String, at DateTime DEFAULT now()) ENGINE = "
    "MergeTree PARTITION BY toDate(at) ORDER BY id SETTINGS fsync_after_insert = 1, "
    "fsync_part_directory = 1",
    "erasure_acks (id UInt64, node FixedString(16), last_record UInt64, is_done UInt8, at DateTime "
    "DEFAULT now()) ENGINE = MergeTree PARTITION BY toDate(at) ORDER BY (id, node)",
    "removed (batch UInt64, rows_of LowCardinality(String), by String, day Date, n UInt64) ENGINE "
    "= "
    "ReplacingMergeTree PARTITION BY day ORDER BY (batch, rows_of, by)",
};

static enum sf_err step_3(const char *database,
                          enum sf_err (*run)(void *arg, struct sf_buf *sql, struct sf_why *why),
                          void *arg, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < sizeof(step_3_tables) / sizeof(step_3_tables[0]); i++) {
        sf_buf_reset(&sql);
        sf_buf_print(&sql, "CREATE TABLE IF NOT EXISTS %s.%s", database, step_3_tables[i]);
        err = run(arg, &sql, why);
    }
    sf_buf_done(&sql);
    return err;
}

/* Retention of samples by outcome (remote_keep.h).
 *
 *   undecided        samples of hours that are to be judged; the kept ones are copied to
 *                    `details`, with the number of the attempt
 *   judged           attempts that count (the first for a tenant, hour and round), and since when
 *   judged_batches   the batches whose samples were judged
 *   kept_traces, kept_roots   what the verdict keeps */
static const char *const step_4_tables[] = {
    SF_SCHEMA_UNDECIDED
    " (tenant LowCardinality(String), day Date, bucket UInt32 CODEC(Delta, ZSTD(1)), "
    "span_id UInt64 CODEC(ZSTD(1)), process UInt64 CODEC(ZSTD(1)), thread UInt64 CODEC(ZSTD(1)), "
    "start_ns Int64 CODEC(Delta, ZSTD(1)), length_ns Int64 CODEC(ZSTD(1)), "
    "service LowCardinality(String), type LowCardinality(String), series UInt64 CODEC(ZSTD(1)), "
    "trace_id FixedString(16) CODEC(ZSTD(1)), stack UInt64 CODEC(ZSTD(1)), "
    "value Int64 CODEC(ZSTD(1)), samples UInt32 CODEC(ZSTD(1)), state UInt8 CODEC(ZSTD(1)), "
    "runtime_thread UInt64 CODEC(ZSTD(1)), thread_name LowCardinality(String), has_time UInt8, "
    "is_lent UInt8, is_kernel_thread UInt8, process_key LowCardinality(String), is_guess UInt8, "
    "is_request UInt8, batch UInt64 CODEC(ZSTD(1)), "
    "INDEX by_trace trace_id TYPE bloom_filter(0.01) GRANULARITY 1) "
    "ENGINE = MergeTree PARTITION BY intDiv(bucket, 3600) ORDER BY (tenant, bucket, span_id, "
    "process, thread, start_ns)" COUNTED LOOKED_UP,
    "judged (tenant String, day Date, hour UInt32, round UInt32, attempt UInt64, is_whole UInt8, "
    "version UInt32, rules String, services Array(String), counts_at DateTime) ENGINE = MergeTree "
    "PARTITION BY day ORDER BY (tenant, hour)" COUNTED,
    "judged_batches (tenant LowCardinality(String), hour UInt32, attempt UInt64, batch UInt64) "
    "ENGINE = MergeTree PARTITION BY hour ORDER BY (tenant, hour, batch)" COUNTED,
    "kept_traces (tenant LowCardinality(String), day Date, hour UInt32, attempt UInt64, "
    "trace_id FixedString(16), reasons UInt16, baseline UInt16, spans Array(UInt64)) ENGINE = "
    "MergeTree PARTITION BY day ORDER BY (tenant, hour, trace_id)" COUNTED LOOKED_UP,
    "kept_roots (tenant LowCardinality(String), day Date, hour UInt32, attempt UInt64, process "
    "UInt64, start_ns Int64, until_ns Int64) ENGINE = MergeTree PARTITION BY day ORDER BY (tenant, "
    "hour, process, start_ns)" COUNTED,
};

static enum sf_err step_4(const char *database,
                          enum sf_err (*run)(void *arg, struct sf_buf *sql, struct sf_why *why),
                          void *arg, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err;
    sf_buf_print(&sql,
                 "ALTER TABLE %s.details ADD COLUMN IF NOT EXISTS attempt UInt64 CODEC(ZSTD(1))",
                 database);
    err = run(arg, &sql, why);
    for (size_t i = 0; !err && i < sizeof(step_4_tables) / sizeof(step_4_tables[0]); i++) {
        sf_buf_reset(&sql);
        sf_buf_print(&sql, "CREATE TABLE IF NOT EXISTS %s.%s", database, step_4_tables[i]);
        err = run(arg, &sql, why);
    }
    sf_buf_done(&sql);
    return err;
}

/* State that all nodes share.
 *
 * shared   texts by kind, tenant and name; the highest version is the current one. On the first
 *          shard only (shared_text.h)
 * pinned   ids, services and times of the spans of pinned traces, for one round (pin_set.h) */
static const char *const step_5_tables[] = {
    "shared (kind LowCardinality(String), tenant String, name String, version UInt64, mark UInt64, "
    "is_gone UInt8, ends_ns Int64, at DateTime64(3) DEFAULT now64(3), body String) ENGINE = "
    "ReplacingMergeTree(version) ORDER BY (kind, tenant, name) SETTINGS "
    "non_replicated_deduplication_window = 10000, fsync_after_insert = 1, fsync_part_directory = 1",
    "pinned (round UInt64, tenant LowCardinality(String), trace_id FixedString(16), span_id "
    "UInt64, "
    "service LowCardinality(String), start_ns Int64, end_ns Int64, at DateTime DEFAULT now()) "
    "ENGINE = MergeTree ORDER BY (round, tenant, trace_id) TTL at + INTERVAL 1 DAY",
};

static enum sf_err step_5(const char *database,
                          enum sf_err (*run)(void *arg, struct sf_buf *sql, struct sf_why *why),
                          void *arg, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < sizeof(step_5_tables) / sizeof(step_5_tables[0]); i++) {
        sf_buf_reset(&sql);
        sf_buf_print(&sql, "CREATE TABLE IF NOT EXISTS %s.%s", database, step_5_tables[i]);
        err = run(arg, &sql, why);
    }
    sf_buf_done(&sql);
    return err;
}

/* In which buckets the spans are: `spans` is sorted by bucket and then by trace. Rows of older
 * nodes have 0 in both. */
static enum sf_err step_6(const char *database,
                          enum sf_err (*run)(void *arg, struct sf_buf *sql, struct sf_why *why),
                          void *arg, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err;
    sf_buf_print(&sql,
                 "ALTER TABLE %s.traces ADD COLUMN IF NOT EXISTS first_bucket UInt32 CODEC(T64, "
                 "ZSTD(1)), ADD COLUMN IF NOT EXISTS last_bucket UInt32 CODEC(T64, ZSTD(1))",
                 database);
    err = run(arg, &sql, why);
    sf_buf_done(&sql);
    return err;
}

/* Spans whose start is not in their bucket, because the sender's clock was wrong, may be in the
 * buckets of a day: with this index they are not read to find that there are none. Rows that were
 * stored before have no index until they are merged. */
static enum sf_err step_7(const char *database,
                          enum sf_err (*run)(void *arg, struct sf_buf *sql, struct sf_why *why),
                          void *arg, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err;
    sf_buf_print(&sql,
                 "ALTER TABLE %s.spans ADD INDEX IF NOT EXISTS by_start start_ns TYPE minmax "
                 "GRANULARITY 1",
                 database);
    err = run(arg, &sql, why);
    sf_buf_done(&sql);
    return err;
}

static sf_schema_step *const steps[SF_SCHEMA_VERSION] = {step_1, step_2, step_3, step_4,
                                                         step_5, step_6, step_7};

static enum sf_err schema_walk(uint32_t from, const char *database,
                               enum sf_err (*run)(void *arg, struct sf_buf *sql,
                                                  struct sf_why *why),
                               void *arg, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err = SF_OK;
    for (uint32_t v = from; !err && v < SF_SCHEMA_VERSION; v++) {
        err = steps[v](database, run, arg, why);
        sf_buf_reset(&sql);
        sf_buf_print(&sql, "INSERT INTO %s.schema_version (version) VALUES (%u)", database, v + 1);
        if (!err)
            err = run(arg, &sql, why);
    }
    sf_buf_done(&sql);
    return err;
}

static enum sf_err run_on_shard(void *arg, struct sf_buf *sql, struct sf_why *why)
{
    if (!sf_buf_ok(sql))
        return sf_no_memory(why, "a statement");
    return sf_shard_run(arg, sf_buf_str(sql), why);
}

static enum sf_err print_statement(void *arg, struct sf_buf *sql, struct sf_why *why)
{
    (void)why;
    sf_buf_add_str(arg, sf_buf_str(sql));
    sf_buf_add_str(arg, SF_STR(";\n"));
    return SF_OK;
}

enum sf_err sf_schema_version(struct sf_shard *s, const char *database, uint32_t *out,
                              struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = 4096};
    struct sf_row_reader r;
    uint64_t has_table = 0;
    uint32_t version = 0;
    enum sf_err err;
    sf_buf_print(&sql,
                 "SELECT count() FROM system.tables WHERE database = '%s' AND name = "
                 "'schema_version' FORMAT RowBinary",
                 database);
    err = sf_shard_ask(s, sf_buf_str(&sql), 0, &answer, why);
    if (!err) {
        r = sf_row_reader_init(sf_buf_bytes(&answer));
        has_table = sf_row_binary_u64(&r);
        err = sf_row_binary_check(&r, why);
    }
    if (!err && has_table) {
        sf_buf_reset(&sql);
        sf_buf_reset(&answer);
        sf_buf_print(&sql, "SELECT max(version) FROM %s.schema_version FORMAT RowBinary", database);
        err = sf_shard_ask(s, sf_buf_str(&sql), 0, &answer, why);
        r = sf_row_reader_init(sf_buf_bytes(&answer));
        version = err ? 0 : sf_row_binary_u32(&r);
        if (!err)
            err = sf_row_binary_check(&r, why);
    }
    if (!err)
        *out = version;
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    return err;
}

enum sf_err sf_schema_migrate(struct sf_shard *s, const char *database, struct sf_why *why)
{
    uint32_t version;
    enum sf_err err = sf_schema_version(s, database, &version, why);
    if (err)
        return err;
    if (version > SF_SCHEMA_VERSION)
        return sf_fail(why, SF_ERR_UNSUPPORTED,
                       "%.80s: database %.64s has schema %" PRIu32 ", this program knows %d: use a "
                       "newer one",
                       sf_shard_address(s), database, version, SF_SCHEMA_VERSION);
    return schema_walk(version, database, run_on_shard, s, why);
}

void sf_schema_print(uint32_t from, const char *database, struct sf_buf *out)
{
    (void)schema_walk(from, database, print_statement, out, NULL);
}
