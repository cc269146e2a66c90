#include "store/clickhouse/acks.h"

#include "base/heap.h"
#include "os/clock.h"
#include "store/local/local.h"
#include "wal/wal.h"

struct sf_ack {
    struct sf_ticket ticket; /* first member: the store returns its address */
    struct sf_acks *all;
    struct sf_wal *wal;
    struct sf_ticket *theirs;
    int64_t since_ns; /* monotonic */
    struct sf_ack *next;
};

void sf_acks_init(struct sf_acks *a)
{
    sf_mutex_init(&a->lock, SF_LOCK_STORE_ACKS);
}

static void acks_give_back(struct sf_ack *ack, enum sf_err result, const struct sf_why *why)
{
    struct sf_ticket *t = ack->theirs;
    t->result = result;
    if (why)
        t->why = *why;
    t->lsn = ack->ticket.lsn;
    sf_heap_free(ack);
    t->done(t);
}

/* Called when the batch is in the log: on the log's thread, or inside append for a repeated
 * request. The record of a repeat is unknown, but it is an acknowledged one. */
static void acks_logged(struct sf_ticket *ticket)
{
    struct sf_ack *ack = (struct sf_ack *)ticket;
    struct sf_acks *a = ack->all;
    bool is_there;
    if (ticket->result) {
        acks_give_back(ack, ticket->result, &ticket->why);
        return;
    }
    if (!ticket->lsn)
        ticket->lsn = sf_wal_whole_lsn(ack->wal);
    sf_mutex_lock(&a->lock);
    is_there = ticket->lsn <= a->confirmed_lsn;
    if (!is_there) {
        ack->next = a->first;
        a->first = ack;
    }
    sf_mutex_unlock(&a->lock);
    if (is_there)
        acks_give_back(ack, SF_OK, NULL);
}

enum sf_err sf_acks_append(struct sf_acks *a, struct sf_store *s, unsigned writer,
                           struct sf_batch **give, struct sf_ticket *ticket, struct sf_why *why)
{
    struct sf_ack *ack = sf_heap_new(sizeof(*ack));
    enum sf_err err;
    if (!ack)
        return sf_no_memory(why, "an acknowledgement");
    ack->ticket.done = acks_logged;
    ack->all = a;
    ack->wal = sf_local_log(s);
    ack->theirs = ticket;
    ack->since_ns = sf_clock_mono_ns();
    err = sf_store_local_ops.append(s, writer, give, &ack->ticket, why);
    if (err)
        sf_heap_free(ack);
    return err;
}

/* Removes the entries from the list that `lsn` confirms or that are older than `since_ns`. */
static struct sf_ack *acks_take(struct sf_acks *a, uint64_t lsn, int64_t since_ns)
{
    struct sf_ack *taken = NULL, **at = &a->first;
    while (*at) {
        struct sf_ack *ack = *at;
        if (ack->ticket.lsn > lsn && ack->since_ns >= since_ns) {
            at = &ack->next;
            continue;
        }
        *at = ack->next;
        ack->next = taken;
        taken = ack;
    }
    return taken;
}

static void give_back_all(struct sf_ack *ack, enum sf_err result, const struct sf_why *why)
{
    while (ack) {
        struct sf_ack *next = ack->next;
        acks_give_back(ack, result, why);
        ack = next;
    }
}

void sf_acks_confirm(struct sf_acks *a, uint64_t lsn)
{
    struct sf_ack *taken;
    sf_mutex_lock(&a->lock);
    if (lsn > a->confirmed_lsn)
        a->confirmed_lsn = lsn;
    taken = acks_take(a, lsn, INT64_MIN);
    sf_mutex_unlock(&a->lock);
    give_back_all(taken, SF_OK, NULL);
}

void sf_acks_expire(struct sf_acks *a, int64_t since_ns)
{
    struct sf_ack *taken;
    struct sf_why why;
    (void)sf_fail(&why, SF_ERR_BUSY, "ClickHouse has not confirmed the data (store.remote.ack)");
    sf_mutex_lock(&a->lock);
    taken = acks_take(a, 0, since_ns);
    sf_mutex_unlock(&a->lock);
    give_back_all(taken, SF_ERR_BUSY, &why);
}

void sf_acks_done(struct sf_acks *a)
{
    sf_acks_expire(a, INT64_MAX);
    sf_mutex_done(&a->lock);
}
