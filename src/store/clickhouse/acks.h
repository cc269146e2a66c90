/* acks.h - requests whose acknowledgement waits for ClickHouse.
 *
 * Each request is appended to the local store with a ticket of this module. When that ticket
 * completes, the batch is in the log; the caller's ticket completes when every shard has confirmed
 * the log up to that record. */
#pragma once
#include "os/thread.h"
#include "store/store.h"

struct sf_ack;

struct sf_acks {
    struct sf_mutex lock; /* guards the list; a leaf lock */
    struct sf_ack *first; /* in no order */
    uint64_t confirmed_lsn;
};

void sf_acks_init(struct sf_acks *a);
/* After the last confirmation: requests that still wait get BUSY. Their data is in the log, and a
 * repeated request is recognised. */
void sf_acks_done(struct sf_acks *a);
/* As append of store.h; `s` is the local store. */
enum sf_err sf_acks_append(struct sf_acks *a, struct sf_store *s, unsigned writer,
                           struct sf_batch **give, struct sf_ticket *ticket, struct sf_why *why);
void sf_acks_confirm(struct sf_acks *a, uint64_t lsn);
/* Completes with BUSY the requests that have waited since before `since_ns` (monotonic): senders
 * retry, and a stopping server does not wait for a shard. */
void sf_acks_expire(struct sf_acks *a, int64_t since_ns);
