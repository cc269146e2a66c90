/* acks.h - requests whose acknowledgement waits for ClickHouse.
 *
 * The local store gets a ticket of ours. When that comes back, the batch is in the log; the
 * caller's ticket comes back when every shard has confirmed the log up to there. */
#pragma once
#include "os/thread.h"
#include "store/store.h"

struct sf_ack;

struct sf_acks {
    struct sf_mutex lock; /* guards the list; takes nothing */
    struct sf_ack *first; /* in no order */
    uint64_t confirmed_lsn;
};

void sf_acks_init(struct sf_acks *a);
/* After the last confirmation: those that still wait get BUSY. Their data is in the log, and a
 * repeat of the request is recognised as one. */
void sf_acks_done(struct sf_acks *a);
/* As append of store.h; `s` is the local store. */
enum sf_err sf_acks_append(struct sf_acks *a, struct sf_store *s, unsigned writer,
                           struct sf_batch **give, struct sf_ticket *ticket, struct sf_why *why);
void sf_acks_confirm(struct sf_acks *a, uint64_t lsn);
/* Gives back, with BUSY, what has waited since before `since_ns` (monotonic): senders try again,
 * and a server that stops waits for no shard. */
void sf_acks_expire(struct sf_acks *a, int64_t since_ns);
