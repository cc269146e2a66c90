/* span_pool.h - slots of live spans, found by number.
 *
 * A number is generation << 32 | index + 1. Slots are never unmapped, so any number may be looked
 * up at any time, also in a signal handler: when the generation differs, the span has ended. An odd
 * generation is live. Free slots form a lock-free stack whose head carries a tag against the ABA
 * problem.
 *
 * A slot's lock is held for one change; two threads that use one span at once, which is not
 * allowed, may get a wrong span but no crash. */
#pragma once
#include "base/buf.h"
#include "collect/lib/span_cost.h"
#include "collect/lib/thread.h"
#include "collect/sys/lock.h"

enum { SF_POOL_CHUNK = 256, SF_POOL_CHUNKS = 64 }; /* 16,384 live spans: about 4 MB of slots */

struct sf_span_slot {
    atomic_uint gen;
    uint32_t index;
    atomic_uint next;    /* index + 1 of the next free one */
    struct sf_lock lock; /* guards what follows while the span lives; the first in the lock order */
    uint32_t epoch;      /* the process in which it began: a forked child does not send its parent's
                          * spans */
    bool is_recording;
    uint8_t status;
    uint8_t profile;    /* sf_span_profile of the request */
    bool is_local_root; /* it has no parent span in this process */
    uint64_t begin_cpu_ns;
    uint16_t n_attrs, n_events, n_links;
    uint32_t dropped_attrs, dropped_events, dropped_links;
    uint64_t key_mask; /* one bit per key that was set, by hash: shows quickly that a key is new */
    _Alignas(16) uint8_t record[SF_RECORD_LEN];
    int64_t start_mono_ns; /* 0: the caller gave the start time */
    int64_t start_unix_ns;
    sf_span under;
    uint32_t tid;     /* id of the thread that started it */
    char *tracestate; /* heap, or NULL */
    struct sf_span_cost cost;
    struct sf_buf body; /* the Span message so far; its memory stays with the slot */
    /* Counted per slot, so that threads do not contend for one counter. */
    uint64_t n_unsampled, n_queued;
};

struct sf_span_slot *sf_span_pool_take(void);      /* a live slot, not locked; NULL: all in use */
void sf_span_pool_give(struct sf_span_slot *slot); /* returns the slot of an ended span */
/* Inline: switching the active span takes only a few nanoseconds. */
extern _Atomic(struct sf_span_slot *) sf_span_pool_chunks[SF_POOL_CHUNKS];
extern atomic_uint sf_span_pool_n_chunks;
static inline struct sf_span_slot *sf_span_pool_at(uint32_t index)
{
    struct sf_span_slot *chunk = atomic_load_explicit(&sf_span_pool_chunks[index / SF_POOL_CHUNK],
                                                      memory_order_acquire);
    return chunk + index % SF_POOL_CHUNK;
}
/* The slot for number `s`, which may be any value; NULL: there is none. */
static inline struct sf_span_slot *sf_span_pool_place(sf_span s)
{
    uint32_t place = (uint32_t)s;
    if (!place || place > SF_POOL_CHUNK * SF_POOL_CHUNKS || !(s >> 32 & 1) ||
        (place - 1) / SF_POOL_CHUNK >=
            atomic_load_explicit(&sf_span_pool_n_chunks, memory_order_acquire))
        return NULL;
    return sf_span_pool_at(place - 1);
}
/* The slot of a live span, NULL when it has ended; safe in signal handlers. */
static inline struct sf_span_slot *sf_span_pool_find(sf_span s)
{
    struct sf_span_slot *slot = sf_span_pool_place(s);
    return slot && atomic_load_explicit(&slot->gen, memory_order_acquire) == s >> 32 ? slot : NULL;
}
/* The same; but for a span that has ended and whose slot is not yet reused, the live span it was
 * started under. */
struct sf_span_slot *sf_span_pool_find_under(sf_span s);
static inline sf_span sf_span_pool_name(const struct sf_span_slot *slot)
{
    return (uint64_t)atomic_load_explicit(&slot->gen, memory_order_relaxed) << 32 |
           (slot->index + 1);
}
/* Locks a live span; NULL when it ended meanwhile. */
struct sf_span_slot *sf_span_pool_lock(sf_span s);
/* Sums over all slots. */
void sf_span_pool_count(uint64_t *started, uint64_t *unsampled, uint64_t *queued);
void sf_span_pool_before_fork(void);
void sf_span_pool_after_fork(bool is_child);
