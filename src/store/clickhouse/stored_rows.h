/* stored_rows.h - which rows of one part of a batch a shard has, for a node that does not know
 * whether an insert was stored.
 *
 * A deduplication token does not answer that. ClickHouse logs the token and adds the rows in two
 * steps; a server that is killed between them has, depending on its version, the token without the
 * rows (a repeated insert is then ignored) or the rows without the token (then it is stored
 * twice). So the rows are counted. */
#pragma once
#include "store/clickhouse/schema.h"

struct sf_stored_rows {
    struct sf_shard *shard;
    const char *database;
    enum sf_ship_table table; /* a counted one, or SF_SHIP_BATCHES */
    uint64_t batch;
    uint16_t from_day, to_day;
};

enum sf_stored {
    SF_STORED_NONE,
    SF_STORED_SOME,  /* an insert stores each partition by itself, and did not store all of them */
    SF_STORED_OTHER, /* rows of an insert that is not this one: the data directory was restored from
                        a copy, and batches of both have the same number */
    SF_STORED_ALL,   /* but for rows that were erased or too old */
};

/* Compares the rows with `n_sent`. */
enum sf_err sf_stored_rows_ask(const struct sf_stored_rows *r, uint64_t n_sent, enum sf_stored *out,
                               struct sf_why *why);
enum sf_err sf_stored_rows_delete(const struct sf_stored_rows *r, struct sf_why *why);
