/* remote_erase.h - erasing in a fleet: on all shards, on all nodes' disks, and from what waits in
 * their logs.
 *
 * An erasure is a row of `erasures` on the first shard. The node that was asked erases its own
 * data, writes the row, deletes on every shard, and counts what is left: none may be.
 *
 * Every node reads `erasures` before it makes a batch. One that learns of an erasure erases its
 * own data, writes down in `erasure_acks` how far its log was, and leaves out of its batches what
 * the erasure names in records up to there. (No clocks are compared: what a node takes after it
 * has learned of the erasure is new data.) A batch that was under way may still bring such rows, so
 * shards are looked through again until every node that shipped lately has shipped its log up to
 * the record that it wrote down. Entries of dictionaries stay until retention takes them. */
#pragma once
#include "store/clickhouse/shard.h"
#include "store/local/tombstones.h"
#include "store/store.h"

/* ---- on a node ---- */

struct sf_remote_erase {        /* what a node knows of; the thread that ships uses it */
    struct sf_tombstones *open; /* block numbers are those of records; NULL: none */
    uint64_t *known;            /* ids */
    uint32_t n_known, cap_known;
};

void sf_remote_erase_done(struct sf_remote_erase *e);
/* Reads what is new, erases it in the local store, and writes down that it did. `newest_lsn` is the
 * last record of the log, `shipped_lsn` the last one that is in ClickHouse. */
enum sf_err sf_remote_erase_learn(struct sf_remote_erase *e, struct sf_shard *first,
                                  const char *database, struct sf_store *store, uint64_t newest_lsn,
                                  uint64_t shipped_lsn, struct sf_why *why);

/* ---- one that is queried for ---- */

/* Erases in the local store, then writes the erasure down for all nodes. */
enum sf_err sf_remote_erase_begin(struct sf_shard *first, const char *database,
                                  struct sf_store *store, uint32_t tenant,
                                  const struct sf_selector *which, uint64_t newest_lsn,
                                  uint64_t *out_id, struct sf_why *why);
/* Deletes what a shard has of it, and counts again. */
enum sf_err sf_remote_erase_rows(struct sf_shard *shard, const char *database, uint64_t id,
                                 sf_str tenant, const struct sf_selector *which, uint64_t *io_n,
                                 struct sf_why *why);

/* ---- upkeep ---- */

/* One pass over the erasures that are not finished. `is_slow`: those that have waited for long get
 * one, too. `out_n_open`: how many remain. */
enum sf_err sf_remote_erase_work(struct sf_shard *const *shards, uint32_t n_shards,
                                 const char *database, const uint8_t node[16], bool is_slow,
                                 uint64_t *out_n_open, struct sf_why *why);
