/* ship_source.h - where a shipper's records come from: the log of this node, or the blocks that it
 * had before (store/local/history.h), whose pieces count as records. For use by one thread. */
#pragma once
#include "store/clickhouse/remote_outbox.h"
#include "store/local/history.h"
#include "store/local/local_config.h"
#include "wal/wal_follow.h"

struct sf_ship_source {
    struct sf_store *store;
    struct sf_wal *wal; /* NULL: the blocks */
    sf_replay_fn replay;
    void *replay_arg;
    struct sf_history *history;
    int64_t begun_ns; /* of blocks: stands for the time of receipt of all pieces */
    struct sf_wal_follow *follow;
    uint64_t flushed_lsn; /* of the log: end of the last flush */
    uint64_t at;          /* of blocks: the last piece that was read */
};

struct sf_ship_record {
    uint64_t lsn;
    int64_t recv_ns;
    uint64_t n_lost; /* missing records before this one; also set with NOT_FOUND */
    struct sf_wal_followed_piece logged;
    struct sf_history_piece piece;
};

/* Before each batch: begins after that record, unless the source is open, which continues. */
enum sf_err sf_ship_source_open(struct sf_ship_source *s, uint64_t after_lsn, struct sf_why *why);
void sf_ship_source_close(struct sf_ship_source *s); /* the blocks remain open */
/* NOT_FOUND: no more records for now. IO, NOMEM: open again later. */
enum sf_err sf_ship_source_next(struct sf_ship_source *s, struct sf_ship_record *out,
                                struct sf_why *why);
/* Adds the rows of a record. INPUT, CORRUPT: it cannot be read. */
enum sf_err sf_ship_source_add(struct sf_ship_source *s, const struct sf_ship_record *record,
                               struct sf_remote_outbox *to, struct sf_why *why);
/* Must a batch end with this record? */
bool sf_ship_source_is_end(const struct sf_ship_source *s, uint64_t lsn);
/* The newest record that can be shipped. */
uint64_t sf_ship_source_newest(const struct sf_ship_source *s);
