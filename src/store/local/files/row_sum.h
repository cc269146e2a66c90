/* row_sum.h - a checksum for every row of the catalogue, since SQLite has none.
 *
 * If a bit flips in a checkpoint, a length or a path, SQLite still considers the database intact.
 * Each table has a column `sum`; the SQL function row_sum(a, b, ...) computes it from the other
 * columns and their types, and statements that write a row also write its sum. */
#pragma once
#include <sqlite3.h>
#include <stdint.h>

/* The columns that make the sum, in order. */
#define SF_SUM_META   "k, v"
#define SF_SUM_TENANT "id, name"
#define SF_SUM_BLOCK                                                                           \
    "tenant, kind, day, id, level, ts_min, ts_max, rows, bytes, lsn_lo, lsn_hi, flush, state," \
    " tier, path, created"
#define SF_SUM_ERASE "id, tenant, selector, below_block, lsn, created, state"

int sf_row_sum_register(sqlite3 *db); /* an SQLite code */
/* Calls `say` for each table with rows whose sum is wrong; returns an SQLite code. */
int sf_row_sum_check(sqlite3 *db, void (*say)(void *arg, const char *table, int64_t n_bad),
                     void *arg);
