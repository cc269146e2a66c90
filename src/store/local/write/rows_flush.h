/* rows_flush.h - writes memtables to one level-0 block, without making parts.
 *
 * Parts exist for searches. Without searches, encoding rows into a part and decoding it again for
 * the block would be most of the cost of a span after it is durable. The rows can still be found,
 * and a search may seal them meanwhile: then the part is removed with them. One flush at a time. */
#pragma once
#include "store/local/write/merge.h"

struct sf_rows_flush {
    struct sf_rows_taken {
        struct sf_memtable *m;
        struct sf_memtable_body *body;
    } * list;
    size_t n;
};

/* Claims all rows of generations up to `gen`. NOMEM claims none. */
enum sf_err sf_rows_flush_take(struct sf_local *l, uint64_t gen, struct sf_rows_flush *out,
                               struct sf_why *why);
/* Do they make one block? Otherwise they have to be sealed, and the parts merged. */
bool sf_rows_flush_is_one_block(const struct sf_local *l, const struct sf_rows_flush *f);
/* Writes the block of a flush as sf_merge_run() would, from the rows instead of `m->inputs`. */
enum sf_err sf_rows_flush_write(struct sf_local *l, const struct sf_rows_flush *f,
                                const struct sf_merge *m, struct sf_merge_result *out,
                                struct sf_why *why);
/* The block is committed: the rows cannot be sealed any more, and `parts` gets those that were
 * sealed (at most one per body). Publish the block, then call sf_rows_flush_end(). */
size_t sf_rows_flush_hold(struct sf_rows_flush *f, struct sf_run **parts);
/* Releases the rows: for ever if their block is committed. May be called twice. */
void sf_rows_flush_end(struct sf_rows_flush *f, bool is_shown);
