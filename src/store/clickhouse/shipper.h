/* shipper.h - a thread that ships the log, or older blocks (ship_source.h), to ClickHouse.
 *
 * It follows the log (wal/wal_follow.h), so acknowledged data waits on this node's disk until every
 * shard has confirmed it. A batch is a range of records. It is recorded (ship_state.h), sent table
 * by table and shard by shard with a token for each insert, and confirmed by a row of `batches` on
 * each shard. Failed inserts are repeated until the shard has their rows (stored_rows.h), in order:
 * an unreachable shard delays the node's later batches. Rows that ClickHouse cannot store are
 * written to the folder ship.refused and counted. */
#pragma once
#include "model/answer/remote_state.h"
#include "os/dir.h"
#include "store/clickhouse/attr_columns.h"
#include "store/clickhouse/remote_address.h"
#include "store/clickhouse/ship_state.h"
#include "store/local/local_config.h"
#include "store/store.h"

struct sf_shipper;

struct sf_shipper_config {
    struct sf_dir *dir;     /* borrowed until stop, like all below */
    const char *state_name; /* the file with its state */
    /* Ships these blocks, and ends with the last one; NULL: ships the log. */
    struct sf_history *history;
    /* Called on the shipper's thread when all blocks are shipped. */
    void (*finished)(void *arg);
    void *finished_arg;
    const struct sf_remote_address *address;
    const char *user, *password, *ca_file; /* NULL: none */
    int64_t interval_ns, timeout_ns;
    uint64_t memory_len; /* that a statement may take on a shard */
    uint64_t spool_len;  /* largest amount of data that may wait */
    struct sf_attr_columns *attributes;
    bool is_undecided; /* store samples as undecided until their hour was judged */
    sf_replay_fn replay;
    void *replay_arg;
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
    /* Called on the shipper's thread when every shard has all records up to `lsn`; may be NULL. */
    void (*confirmed)(void *arg, uint64_t lsn);
    void (*failed)(void *arg); /* Called there when an attempt to send failed; may be NULL. */
    void *confirmed_arg;       /* of both */
    /* Returns how many pieces of blocks were moved, once all were, and the node they count as; 0:
     * none yet. Erasures are acknowledged for that node, too. NULL: none are. */
    uint64_t (*moved)(void *arg, const uint8_t **out_node);
    void *moved_arg;
};

/* `store` is an open local store, `state` the state that was read before it was opened. */
enum sf_err sf_shipper_start(const struct sf_shipper_config *config, struct sf_store *store,
                             const struct sf_ship_state *state, struct sf_shipper **out,
                             struct sf_why *why);
/* Tries for a few seconds to ship the remaining data; the rest is shipped after the next start.
 * NULL is allowed. */
void sf_shipper_stop(struct sf_shipper *s);

/* How full the spool is, as a pressure level; REFUSE when it is full. */
enum sf_pressure sf_shipper_pressure(struct sf_shipper *s);
/* Attempts have failed for so long that requests should not wait for ClickHouse. */
bool sf_shipper_is_failing(struct sf_shipper *s);
/* All records up to this one are in ClickHouse. */
uint64_t sf_shipper_shipped(struct sf_shipper *s);
/* Some of them are not, because ClickHouse refused them or they could not be read. */
bool sf_shipper_left_out(struct sf_shipper *s);
struct sf_ship_extent {                 /* what shards must have */
    uint64_t first_record, last_record; /* first 0: unknown; last 0: nothing was shipped */
    int64_t received_ns;                /* receipt of the last batch; 0: unknown */
};
struct sf_ship_extent sf_shipper_extent(struct sf_shipper *s);
/* Counters only; the shards are not queried. */
void sf_shipper_counts(struct sf_shipper *s, struct sf_remote_counts *out);
