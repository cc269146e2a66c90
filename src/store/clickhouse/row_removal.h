/* row_removal.h - deletes rows of a shard's tables and records the deletion.
 *
 * `removed` says how many rows of which batch went, so that `store verify` can tell a row that was
 * removed from one that was lost. What reports it (`by`) names the removal: noted twice, it counts
 * once. */
#pragma once
#include "store/clickhouse/schema.h"

struct sf_row_removal {
    struct sf_shard *shard;
    const char *database;
    const char *table;   /* one that has batches */
    const char *rows_of; /* as which it is counted: NULL: the table */
    sf_str where;        /* a condition */
    sf_str by;           /* letters, digits, '.', '-' */
};

enum sf_err sf_row_removal_count(const struct sf_row_removal *r, uint64_t *out, struct sf_why *why);
/* Writes down how many rows of each batch the condition takes. */
enum sf_err sf_row_removal_note(const struct sf_row_removal *r, struct sf_why *why);
/* Rewrites the parts that have some; they are gone when it returns. */
enum sf_err sf_row_removal_delete(const struct sf_row_removal *r, struct sf_why *why);
/* One number of one row. */
enum sf_err sf_row_removal_ask(struct sf_shard *shard, struct sf_buf *sql, uint64_t *out,
                               struct sf_why *why);
