/* outbox.h - the queue of finished spans and profiles for the exporter thread.
 *
 * A record is one protobuf field, ready to be copied into a request. A thread that ends a span
 * appends it under a lock held for one copy; the exporter removes whole pieces. A complete request,
 * as for profiles, is a piece of its own. At most `max` bytes are held, including those being sent;
 * further records are dropped and counted by the caller: a slow server never slows the program. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "collect/sys/lock.h"

enum { SF_OUTBOX_PIECE_CAP = 64 * 1024 - 64, SF_OUTBOX_MAX = 3 << 20 };

struct sf_outbox_piece {
    struct sf_outbox_piece *next;
    uint32_t cap, len, n_records;
    uint8_t bytes[];
};

struct sf_outbox {       /* zeroed and `max` set: empty */
    struct sf_lock lock; /* guards the lists; taken before the heap's lock */
    struct sf_outbox_piece *first, *last;
    struct sf_outbox_piece *taken; /* being sent by the exporter thread, which only reads them */
    size_t max;                    /* limit in bytes of memory, in whole pieces */
    atomic_uint_fast64_t held;     /* bytes of memory, queued and being sent */
};

/* False: full, or longer than a piece, or no memory. */
bool sf_outbox_add(struct sf_outbox *o, sf_bytes record);
/* Adds a complete request as a piece of its own; an outbox contains either these or records. */
bool sf_outbox_add_whole(struct sf_outbox *o, sf_bytes request, uint32_t n_records);
/* Takes the oldest pieces, at most `max_len` bytes but at least one piece; NULL: empty. They count
 * as held until they are given back, which must come before the next take. */
struct sf_outbox_piece *sf_outbox_take(struct sf_outbox *o, size_t max_len);
void sf_outbox_give_back(struct sf_outbox *o, struct sf_outbox_piece *list);
bool sf_outbox_is_empty(struct sf_outbox *o);
size_t sf_outbox_held(const struct sf_outbox *o);
/* In a forked child: frees the queue and the pieces that the parent's exporter thread had taken;
 * the parent sends them. The thread that forks holds the outbox's lock and the heap's during fork
 * (sf_exporter_before_fork, sf_heap_before_fork), so that in the child the lists and the heap are
 * consistent. The child has one thread, and sf_heap_after_fork has released the heap's lock before:
 * freeing waits for no other thread. */
void sf_outbox_forget(struct sf_outbox *o);
