/* remote_erase.h - erasing in a fleet: on all shards, on the disks of all nodes, and from data that
 * waits in their logs.
 *
 * An erasure is a row of `erasures` on the first shard. The node that received the request erases
 * its own data, writes the row, deletes on every shard, and counts what is left, which must be
 * nothing.
 *
 * Every node reads `erasures` before it makes a batch. When a node learns of an erasure, it erases
 * its own data, records the end of its log in `erasure_acks`, and leaves out of its batches all
 * selected rows in records up to there. (No clocks are compared: data received after the node
 * learned of the erasure is new data.) A batch that was being sent may still contain such rows, so
 * shards are searched again until every node that shipped recently has shipped its log up to the
 * recorded end; rows of batches that begin after that end are new data and stay. Entries of
 * dictionaries remain until retention deletes them. */
#pragma once
#include "store/clickhouse/shard.h"
#include "store/local/tombstones.h"
#include "store/store.h"

/* ---- on a node ---- */

struct sf_remote_erase {        /* erasures that a node knows; used by the shipping thread */
    struct sf_tombstones *open; /* block numbers are record numbers here; NULL: none */
    uint64_t *known;            /* ids */
    uint32_t n_known, cap_known;
};

void sf_remote_erase_done(struct sf_remote_erase *e);
/* Reads new erasures, erases in the local store, and acknowledges them. `node` (16 bytes) sends
 * the records: `newest_lsn` is the last one, `shipped_lsn` the last one that is in ClickHouse. */
enum sf_err sf_remote_erase_learn(struct sf_remote_erase *e, struct sf_shard *first,
                                  const char *database, struct sf_store *store, const uint8_t *node,
                                  uint64_t newest_lsn, uint64_t shipped_lsn, struct sf_why *why);

/* Does a batch have to end with this record? One that begins after the end of the log that the node
 * recorded has new data only. */
bool sf_remote_erase_is_end(const struct sf_remote_erase *e, uint64_t lsn);

/* ---- one that is queried for ---- */

/* Erases in the local store, then records the erasure for all nodes. */
enum sf_err sf_remote_erase_begin(struct sf_shard *first, const char *database,
                                  struct sf_store *store, uint32_t tenant,
                                  const struct sf_selector *which, uint64_t newest_lsn,
                                  uint64_t *out_id, struct sf_why *why);
/* Deletes the selected rows of a shard, and counts again. `old` is " AND ..." for rows that are not
 * new data (sf_remote_source_before). */
enum sf_err sf_remote_erase_rows(struct sf_shard *shard, const char *database, uint64_t id,
                                 sf_str tenant, const struct sf_selector *which, sf_str old,
                                 uint64_t *io_n, struct sf_why *why);

/* ---- upkeep ---- */

/* One pass over the unfinished erasures. `is_slow`: includes those that have waited for long.
 * `out_n_open`: how many remain. */
enum sf_err sf_remote_erase_work(struct sf_shard *const *shards, uint32_t n_shards,
                                 const char *database, const uint8_t node[16], bool is_slow,
                                 uint64_t *out_n_open, struct sf_why *why);
