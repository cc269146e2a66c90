/* outbox.h - finished spans and profiles on their way to the exporter thread.
 *
 * A record is one protobuf field, ready to be copied into a request. A thread that ends a span
 * appends it under a lock held for one copy; the exporter removes whole pieces. A request that is
 * whole already, as profiles are, is a piece by itself. At most `max` bytes wait, counting those
 * being sent; what comes then is dropped and counted by the caller: a slow server never slows the
 * program. */
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

struct sf_outbox {       /* a zeroed one is empty; set `max` */
    struct sf_lock lock; /* guards the list; before the heap's */
    struct sf_outbox_piece *first, *last;
    size_t max;                /* bytes of memory, whole pieces */
    atomic_uint_fast64_t held; /* bytes of memory, queued and taken */
};

/* False: full, or longer than a piece, or no memory. */
bool sf_outbox_add(struct sf_outbox *o, sf_bytes record);
/* A piece by itself, of any length that fits; an outbox has either these or records. */
bool sf_outbox_add_whole(struct sf_outbox *o, sf_bytes request, uint32_t n_records);
/* The oldest pieces, at most `max_len` bytes but at least one if there is any; NULL: empty. They
 * count as held until returned. */
struct sf_outbox_piece *sf_outbox_take(struct sf_outbox *o, size_t max_len);
void sf_outbox_give_back(struct sf_outbox *o, struct sf_outbox_piece *list);
bool sf_outbox_is_empty(struct sf_outbox *o);
size_t sf_outbox_held(const struct sf_outbox *o);
/* In a forked child: the parent sends what was queued. Frees the queue and what was taken from it.
 */
void sf_outbox_forget(struct sf_outbox *o);
