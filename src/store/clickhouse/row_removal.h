/* row_removal.h - deletes rows of a shard's tables and records the deletion.
 *
 * `removed` stores how many rows of which batch were deleted, so that `store verify` can
 * distinguish deleted rows from lost ones. `by` identifies the deletion: recorded twice, it counts
 * once. */
#pragma once
#include "store/clickhouse/schema.h"

struct sf_row_removal {
    struct sf_shard *shard;
    const char *database;
    const char *table;   /* a table whose rows have a batch */
    const char *rows_of; /* the table in whose count the rows are; NULL: `table` */
    sf_str where;        /* a condition */
    sf_str by;           /* letters, digits, '.', '-' */
};

enum sf_err sf_row_removal_count(const struct sf_row_removal *r, uint64_t *out, struct sf_why *why);
/* Records how many rows of each batch the condition selects. */
enum sf_err sf_row_removal_note(const struct sf_row_removal *r, struct sf_why *why);
/* Rewrites the parts that have such rows; they are deleted when it returns. */
enum sf_err sf_row_removal_delete(const struct sf_row_removal *r, struct sf_why *why);
/* Runs a query that returns one number. */
enum sf_err sf_row_removal_ask(struct sf_shard *shard, struct sf_buf *sql, uint64_t *out,
                               struct sf_why *why);
