#include "store/local/files/row_sum.h"

#include "base/hash.h"

static void row_sum(sqlite3_context *context, int n, sqlite3_value **values)
{
    uint64_t sum = (uint64_t)n;
    for (int i = 0; i < n; i++) {
        int type = sqlite3_value_type(values[i]);
        sum = sf_hash_mix(sum, (uint64_t)type);
        if (type == SQLITE_INTEGER) {
            sum = sf_hash_mix(sum, (uint64_t)sqlite3_value_int64(values[i]));
        } else if (type != SQLITE_NULL) {
            const void *bytes = sqlite3_value_blob(values[i]);
            int len = sqlite3_value_bytes(values[i]);
            sum = sf_hash_mix(sum, len > 0 ? sf_hash(bytes, (size_t)len) : 0);
        }
    }
    sqlite3_result_int64(context, (sqlite3_int64)sum);
}

int sf_row_sum_register(sqlite3 *db)
{
    return sqlite3_create_function(db, "row_sum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                   row_sum, NULL, NULL);
}

int sf_row_sum_check(sqlite3 *db, void (*say)(void *arg, const char *table, int64_t n_bad),
                     void *arg)
{
#define COUNT(table, columns)                                                         \
    {                                                                                 \
        table, "SELECT count(*) FROM " table " WHERE sum IS NOT row_sum(" columns ")" \
    }
    static const struct {
        const char *table, *sql;
    } checks[] = {COUNT("meta", SF_SUM_META), COUNT("tenant", SF_SUM_TENANT),
                  COUNT("block", SF_SUM_BLOCK), COUNT("erase", SF_SUM_ERASE)};
#undef COUNT
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        sqlite3_stmt *s = NULL;
        int code = sqlite3_prepare_v2(db, checks[i].sql, -1, &s, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_step(s);
        if (code == SQLITE_ROW && sqlite3_column_int64(s, 0) > 0)
            say(arg, checks[i].table, sqlite3_column_int64(s, 0));
        sqlite3_finalize(s);
        if (code != SQLITE_ROW)
            return code;
    }
    return SQLITE_OK;
}
