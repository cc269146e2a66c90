/* shipper.h - the thread that brings the log to ClickHouse.
 *
 * It follows the log (wal/wal_follow.h), so acknowledged data waits on this node's disk until every
 * shard has confirmed it. A batch is a range of records: written down (ship_state.h), sent table by
 * table and shard by shard with a token for each insert, and confirmed by a row of `batches` on
 * each shard. What fails is sent again with the same token until it is confirmed, in order: a shard
 * that is gone holds up the node's later batches. Rows that ClickHouse refuses for what they are go
 * to the folder ship.refused and are counted. */
#pragma once
#include "model/answer/remote_state.h"
#include "os/dir.h"
#include "store/clickhouse/remote_address.h"
#include "store/clickhouse/ship_state.h"
#include "store/local/local_config.h"
#include "store/store.h"

struct sf_shipper;

struct sf_shipper_config {
    struct sf_dir *dir; /* borrowed until stop, like all below */
    const struct sf_remote_address *address;
    const char *user, *password, *ca_file; /* NULL: none */
    int64_t interval_ns, timeout_ns;
    uint64_t spool_len; /* the most that may wait */
    bool is_undecided;  /* samples are to be judged when their hour is over */
    sf_replay_fn replay;
    void *replay_arg;
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
    /* Every shard has all records up to `lsn`; on the shipper's thread; may be NULL. */
    void (*confirmed)(void *arg, uint64_t lsn);
    void (*failed)(void *arg); /* likewise: an attempt to send failed */
    void *confirmed_arg;       /* of both */
};

/* `store` is an open local store, `state` what was read before it was opened. */
enum sf_err sf_shipper_start(const struct sf_shipper_config *config, struct sf_store *store,
                             const struct sf_ship_state *state, struct sf_shipper **out,
                             struct sf_why *why);
/* Tries for a few seconds to ship what is left; the rest is shipped after the next start. NULL is
 * fine. */
void sf_shipper_stop(struct sf_shipper *s);

/* How full the spool is, on the steps of all things that fill; REFUSE when it is full. */
enum sf_pressure sf_shipper_pressure(struct sf_shipper *s);
/* Attempts have failed for so long that a request should not wait for ClickHouse. */
bool sf_shipper_is_failing(struct sf_shipper *s);
/* All records up to this one are in ClickHouse. */
uint64_t sf_shipper_shipped(struct sf_shipper *s);
/* Counters only; the shards are not asked. */
void sf_shipper_counts(struct sf_shipper *s, struct sf_remote_counts *out);
