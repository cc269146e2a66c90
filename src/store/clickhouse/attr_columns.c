#include "store/clickhouse/attr_columns.h"

#include <inttypes.h>
#include <string.h>

#include "store/clickhouse/row_removal.h"
#include "store/clickhouse/shard.h"

static bool attr_columns_is_plain(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++) {
        char c = name[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-' || c == '.'))
            return false;
    }
    return len > 0 && len <= SF_ATTR_COLUMNS_NAME;
}

enum sf_err sf_attr_columns_check(const char *const *names, size_t n, struct sf_why *why)
{
    if (n > SF_ATTR_COLUMNS)
        return sf_fail(why, SF_ERR_INPUT, "more than %d attributes", SF_ATTR_COLUMNS);
    for (size_t i = 0; i < n; i++) {
        if (!attr_columns_is_plain(names[i]))
            return sf_fail(why, SF_ERR_INPUT,
                           "'%.60s' must have 1 to %d letters, digits, '_', '-' or '.'", names[i],
                           SF_ATTR_COLUMNS_NAME);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[i], names[k]) == 0)
                return sf_fail(why, SF_ERR_INPUT, "'%.60s' is listed twice", names[i]);
        }
    }
    return SF_OK;
}

static void attr_columns_put_name(struct sf_buf *sql, char kind, sf_str name)
{
    sf_buf_print(sql, "%c:", kind);
    for (size_t i = 0; i < name.len; i++)
        sf_buf_add_u8(sql, name.p[i] == '.' ? ':' : (uint8_t)name.p[i]);
}

void sf_attr_columns_put(struct sf_buf *sql, char kind, sf_str name)
{
    sf_buf_print(sql, "`");
    attr_columns_put_name(sql, kind, name);
    sf_buf_print(sql, "`");
}

/* One column of an attribute, and the expression that ClickHouse computes it with. */
static void attr_columns_put_add(struct sf_buf *sql, char kind, const char *name)
{
    sf_buf_print(sql, "ADD COLUMN IF NOT EXISTS ");
    sf_attr_columns_put(sql, kind, sf_str_from(name));
    switch (kind) {
    case 't':
        sf_buf_print(sql,
                     " UInt8 MATERIALIZED multiIf(countEqual(sk, '%s') + countEqual(ik, '%s') + "
                     "countEqual(dk, '%s') + countEqual(xk, '%s') > 1, %d, has(sk, '%s'), %d, "
                     "has(ik, '%s'), %d, has(dk, '%s') OR has(xk, '%s'), %d, 0)",
                     name, name, name, name, SF_ATTR_COLUMNS_OTHER, name, SF_ATTR_COLUMNS_TEXT,
                     name, SF_ATTR_COLUMNS_INT, name, name, SF_ATTR_COLUMNS_OTHER);
        break;
    case 's':
        sf_buf_print(sql, " LowCardinality(String) MATERIALIZED sv[indexOf(sk, '%s')]", name);
        break;
    default: sf_buf_print(sql, " Int64 MATERIALIZED iv[indexOf(ik, '%s')]", name); break;
    }
    sf_buf_print(sql, " CODEC(ZSTD(1))");
}

static enum sf_err attr_columns_count(const struct sf_attr_columns *a, struct sf_shard *shard,
                                      const char *database, uint64_t *out, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err;
    sf_buf_print(&sql,
                 "SELECT count() FROM system.columns WHERE database = '%s' AND table = 'spans' AND "
                 "name IN (",
                 database);
    for (uint32_t i = 0; i < a->n; i++) {
        for (const char *kind = "tsi"; *kind; kind++) {
            sf_buf_print(&sql, i || *kind != 't' ? ", '" : "'");
            attr_columns_put_name(&sql, *kind, sf_str_from(a->names[i]));
            sf_buf_print(&sql, "'");
        }
    }
    sf_buf_print(&sql, ") FORMAT RowBinary");
    err = sf_row_removal_ask(shard, &sql, out, why);
    sf_buf_done(&sql);
    return err;
}

enum sf_err sf_attr_columns_add(struct sf_attr_columns *a, struct sf_shard *shard,
                                const char *database, uint32_t number, struct sf_why *why)
{
    struct sf_buf sql = {0};
    uint64_t n = 0;
    enum sf_err err = SF_OK;
    if (!a->n || atomic_load(&a->has_columns) >> number & 1)
        return SF_OK;
    err = attr_columns_count(a, shard, database, &n, why);
    if (!err && n < 3 * (uint64_t)a->n) {
        sf_buf_print(&sql, "ALTER TABLE %s.spans ", database);
        for (uint32_t i = 0; i < a->n; i++) {
            for (const char *kind = "tsi"; *kind; kind++) {
                sf_buf_print(&sql, i || *kind != 't' ? ", " : "");
                attr_columns_put_add(&sql, *kind, a->names[i]);
            }
        }
        err = sf_buf_ok(&sql) ? sf_shard_run(shard, sf_buf_str(&sql), why)
                              : sf_no_memory(why, "a statement");
    }
    sf_buf_done(&sql);
    if (!err)
        atomic_fetch_or(&a->has_columns, UINT64_C(1) << number);
    return err;
}

bool sf_attr_columns_has(const struct sf_attr_columns *a, uint32_t n_shards, sf_str name)
{
    uint64_t all = n_shards < 64 ? (UINT64_C(1) << n_shards) - 1 : UINT64_MAX;
    if (!a || !a->n || (atomic_load(&a->has_columns) & all) != all)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        if (sf_str_eq(name, sf_str_from(a->names[i])))
            return true;
    }
    return false;
}
