/* span_pool.h - live spans, by number.
 *
 * A number is generation << 32 | index + 1. Slots are never unmapped and never become anything but
 * slots, so any number may be examined any time, in a signal handler too: when the generation
 * differs, the span has ended. An odd generation is live. Free slots are a lock-free stack whose
 * head carries a tag against its own past.
 *
 * A slot's lock is held for one change; two threads that use one span at once (they should not)
 * get an odd span, not a broken process. */
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
    struct sf_lock lock; /* guards what follows while the span lives; the first of all */
    uint32_t epoch;      /* the process it began in: a forked child does not send its parent's */
    bool is_recording;
    uint8_t status;
    uint8_t profile;    /* sf_span_profile: of the request it belongs to */
    bool is_local_root; /* of this process's part of the trace */
    uint64_t begin_cpu_ns;
    uint16_t n_attrs, n_events, n_links;
    uint32_t dropped_attrs, dropped_events, dropped_links;
    uint64_t key_mask; /* a bit per key seen, by hash: most keys are new, and then known to be */
    _Alignas(16) uint8_t record[SF_RECORD_LEN];
    int64_t start_mono_ns; /* 0: the caller brought his own clock */
    int64_t start_unix_ns;
    sf_span under;
    uint32_t tid;     /* of the thread that started it */
    char *tracestate; /* heap, or NULL */
    struct sf_span_cost cost;
    struct sf_buf body; /* the Span message so far; its memory stays with the slot */
    /* Counted here, not in one place all threads would fight over. */
    uint64_t n_unsampled, n_queued;
};

struct sf_span_slot *sf_span_pool_take(void); /* live, with a lock that is free; NULL: all in use */
void sf_span_pool_give(struct sf_span_slot *slot); /* ended before; back to the free ones */
/* Inline: switching the active span is a handful of nanoseconds altogether. */
extern _Atomic(struct sf_span_slot *) sf_span_pool_chunks[SF_POOL_CHUNKS];
extern atomic_uint sf_span_pool_n_chunks;
static inline struct sf_span_slot *sf_span_pool_at(uint32_t index)
{
    struct sf_span_slot *chunk = atomic_load_explicit(&sf_span_pool_chunks[index / SF_POOL_CHUNK],
                                                      memory_order_acquire);
    return chunk + index % SF_POOL_CHUNK;
}
/* Whatever numbers a program brings: the slot that `s` would be in, or NULL. */
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
/* The same, but for a span that has ended and whose slot is not in use again: the live one it was
 * started under. */
struct sf_span_slot *sf_span_pool_find_under(sf_span s);
static inline sf_span sf_span_pool_name(const struct sf_span_slot *slot)
{
    return (uint64_t)atomic_load_explicit(&slot->gen, memory_order_relaxed) << 32 |
           (slot->index + 1);
}
/* Takes the lock of a live span; NULL when it ended meanwhile. */
struct sf_span_slot *sf_span_pool_lock(sf_span s);
/* Sums over all slots. */
void sf_span_pool_count(uint64_t *started, uint64_t *unsampled, uint64_t *queued);
void sf_span_pool_before_fork(void);
void sf_span_pool_after_fork(bool is_child);
