/* remote_outbox.h - the rows of one batch, by table and shard, encoded and compressed for sending.
 *
 * A batch is a range of records of the log. Its number consists of the node's number and that of
 * its first record (remote_source.h): the same range after a restart is the same batch. For use by
 * one thread. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/table.h"
#include "model/batch.h"
#include "store/clickhouse/schema.h"
#include "store/clickhouse/ship_frame.h"
#include "store/local/tombstones.h"

struct sf_history_profiles; /* store/local/history.h */

struct sf_outbox_part {
    struct sf_buf rows; /* RowBinary; the last ones, which are not in `body` yet */
    struct sf_buf body; /* the earlier ones, as they are sent */
    size_t len;         /* of those in `body`, as RowBinary */
    uint64_t n;         /* all */
};

struct sf_remote_outbox {
    uint32_t n_shards;
    uint64_t batch;
    uint16_t from_day, to_day;    /* of counted rows */
    uint64_t n_rows;              /* of all tables */
    struct sf_outbox_part *parts; /* n_shards times SF_SHIP_TABLES */
    struct sf_ship_frame frame;
    /* Dictionary entries that this node has sent, by hash of table, shard, tenant, day and id.
     * Sending one again does no harm. */
    struct sf_table known_at;
    uint64_t *known;
    uint32_t n_known, cap_known;
    /* Erased rows, which are left out: store/clickhouse/remote_erase.h. */
    const struct sf_tombstones *erased;
    uint64_t record; /* the record that is being added */
    uint32_t tenant; /* and its tenant */
    bool is_short;   /* out of memory: the batch must be discarded and made again */
};

enum sf_err sf_remote_outbox_init(struct sf_remote_outbox *o, uint32_t n_shards,
                                  struct sf_why *why);
void sf_remote_outbox_done(struct sf_remote_outbox *o); /* a zeroed object is allowed */
/* Removes the rows; remembers which dictionary entries were sent. */
void sf_remote_outbox_begin(struct sf_remote_outbox *o, uint64_t batch);
void sf_remote_outbox_forget(
    struct sf_remote_outbox *o); /* forgets which dictionary entries were sent; the rows stay */
enum sf_err sf_remote_outbox_check(const struct sf_remote_outbox *o,
                                   struct sf_why *why); /* NOMEM, LIMIT */

/* Are there enough rows for a batch? */
bool sf_remote_outbox_is_full(const struct sf_remote_outbox *o);
struct sf_outbox_part *sf_remote_outbox_part(struct sf_remote_outbox *o, uint32_t shard,
                                             enum sf_ship_table table);
/* The body of the insert of a part, valid until the part changes. */
enum sf_err sf_remote_outbox_body(struct sf_remote_outbox *o, uint32_t shard,
                                  enum sf_ship_table table, sf_bytes *out, struct sf_why *why);
/* The buffer for one more row. For rows that are counted, `day` is noted. */
struct sf_buf *sf_remote_outbox_row(struct sf_remote_outbox *o, uint32_t shard,
                                    enum sf_ship_table table, uint16_t day);
/* The same for a dictionary entry; NULL: the shard already has it. */
struct sf_buf *sf_remote_outbox_entry(struct sf_remote_outbox *o, uint32_t shard,
                                      enum sf_ship_table table, sf_str tenant, uint16_t day,
                                      uint64_t id);

/* Was the row erased while it waited in the log? */
static inline bool sf_outbox_is_erased(const struct sf_remote_outbox *o, sf_trace_id trace,
                                       sf_str service, uint64_t start_ns)
{
    return o->erased &&
           sf_tombstones_hide(o->erased, o->record, o->tenant, trace, service, start_ns);
}

/* The shard for this hash: the same on every node. */
static inline uint32_t sf_outbox_shard(const struct sf_remote_outbox *o, uint64_t number)
{
    return (uint32_t)(number % o->n_shards);
}

/* The time that decides where a row is stored: the sender's, unless it is more than 31 days before
 * or an hour after the receipt. */
int64_t sf_remote_outbox_time(uint64_t own_ns, int64_t recv_ns);
uint16_t sf_remote_outbox_day(int64_t ns);

/* Rows of a batch of `tenant`, as they came out of the log. */
void sf_span_rows_add(struct sf_remote_outbox *o, sf_str tenant, int64_t recv_ns,
                      const struct sf_span_batch *b);
void sf_profile_rows_add(struct sf_remote_outbox *o, sf_str tenant, int64_t recv_ns,
                         const struct sf_profile_batch *b);
/* Those that were in a block: the receipt was at about `at_ns`. */
void sf_profile_rows_add_history(struct sf_remote_outbox *o, sf_str tenant, int64_t at_ns,
                                 const struct sf_history_profiles *h);
