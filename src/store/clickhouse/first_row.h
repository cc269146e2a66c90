/* first_row.h - inserts a row of which ClickHouse stores only the first, whoever sends it.
 *
 * Nodes agree on something (who has a lease, what the next version of a text is, which attempt
 * counts) by inserting their rows with the same deduplication token: the first insert is stored,
 * all others are ignored. A shard that is killed while it stores may keep the token without the row
 * (stored_rows.h), and then every insert with this token would be ignored for ever. So if there is
 * no row after an insert, and no insert with the token runs any more, the next token is used: the
 * same one for all nodes. */
#pragma once
#include "store/clickhouse/shard.h"

struct sf_first_row {
    struct sf_shard *shard;
    const char *token; /* of at most 100 characters */
    enum sf_err (*insert)(void *arg, const char *token, struct sf_why *why);
    /* Is there a row, of this node or of another? It must not have been deleted since. */
    enum sf_err (*find)(void *arg, bool *out, struct sf_why *why);
    void *arg;
};

/* SF_OK: there is a row. BUSY: an insert still runs; try again later. Otherwise what the functions
 * return. */
enum sf_err sf_first_row_put(const struct sf_first_row *r, struct sf_why *why);
/* Does the shard still work on an insert whose token begins so? */
enum sf_err sf_first_row_is_running(struct sf_shard *shard, const char *token, bool *out,
                                    struct sf_why *why);
