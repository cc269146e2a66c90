#include "collect/lib/span_pool.h"

#include "base/heap.h"

_Atomic(struct sf_span_slot *) sf_span_pool_chunks[SF_POOL_CHUNKS];
atomic_uint sf_span_pool_n_chunks;
static atomic_uint_fast64_t free_head; /* tag << 32 | index + 1 */
static struct sf_lock grow_lock;       /* guards the chunks; held while memory is mapped; no other
                                        * lock is taken */

static void span_pool_push(struct sf_span_slot *slot)
{
    uint64_t head = atomic_load_explicit(&free_head, memory_order_relaxed), fresh;
    do {
        atomic_store_explicit(&slot->next, (uint32_t)head, memory_order_relaxed);
        fresh = ((head >> 32) + 1) << 32 | (slot->index + 1);
    } while (!atomic_compare_exchange_weak_explicit(&free_head, &head, fresh, memory_order_release,
                                                    memory_order_relaxed));
}

static struct sf_span_slot *span_pool_pop(void)
{
    uint64_t head = atomic_load_explicit(&free_head, memory_order_acquire), fresh;
    struct sf_span_slot *slot;
    do {
        if (!(uint32_t)head)
            return NULL;
        slot = sf_span_pool_at((uint32_t)head - 1);
        fresh = ((head >> 32) + 1) << 32 | atomic_load_explicit(&slot->next, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&free_head, &head, fresh, memory_order_acquire,
                                                    memory_order_acquire));
    return slot;
}

static struct sf_span_slot *span_pool_grow(void)
{
    struct sf_span_slot *chunk = NULL;
    unsigned n;
    sf_lock_take(&grow_lock);
    n = atomic_load(&sf_span_pool_n_chunks);
    if (n < SF_POOL_CHUNKS)
        chunk = sf_heap_pages(SF_POOL_CHUNK * sizeof(*chunk));
    if (chunk) {
        for (uint32_t i = 0; i < SF_POOL_CHUNK; i++)
            chunk[i].index = n * SF_POOL_CHUNK + i;
        atomic_store_explicit(&sf_span_pool_chunks[n], chunk, memory_order_release);
        atomic_store_explicit(&sf_span_pool_n_chunks, n + 1, memory_order_release);
    }
    sf_lock_give(&grow_lock);
    if (!chunk)
        return span_pool_pop(); /* another thread may have returned one meanwhile */
    for (uint32_t i = SF_POOL_CHUNK; --i > 0;)
        span_pool_push(&chunk[i]);
    return &chunk[0];
}

struct sf_span_slot *sf_span_pool_take(void)
{
    struct sf_span_slot *slot = span_pool_pop();
    if (!slot)
        slot = span_pool_grow();
    if (slot)
        atomic_fetch_add_explicit(&slot->gen, 1, memory_order_relaxed);
    return slot;
}

void sf_span_pool_give(struct sf_span_slot *slot)
{
    span_pool_push(slot);
}

struct sf_span_slot *sf_span_pool_find_under(sf_span s)
{
    enum {
        DEPTH = 16
    }; /* maximum number of ended spans to follow; reused numbers could form a
        * cycle */
    for (int i = 0; i < DEPTH; i++) {
        struct sf_span_slot *slot = sf_span_pool_place(s);
        uint32_t gen;
        if (!slot)
            return NULL;
        gen = atomic_load_explicit(&slot->gen, memory_order_acquire);
        if (gen == s >> 32)
            return slot;
        if (gen != (uint32_t)(s >> 32) + 1)
            return NULL;
        s = __atomic_load_n(&slot->under, __ATOMIC_RELAXED);
    }
    return NULL;
}

struct sf_span_slot *sf_span_pool_lock(sf_span s)
{
    struct sf_span_slot *slot = sf_span_pool_find(s);
    if (!slot)
        return NULL;
    sf_lock_take(&slot->lock);
    if (sf_span_pool_find(s))
        return slot;
    sf_lock_give(&slot->lock);
    return NULL;
}

void sf_span_pool_count(uint64_t *started, uint64_t *unsampled, uint64_t *queued)
{
    unsigned n = atomic_load(&sf_span_pool_n_chunks);
    *started = *unsampled = *queued = 0;
    for (uint32_t i = 0; i < n * SF_POOL_CHUNK; i++) {
        const struct sf_span_slot *slot = sf_span_pool_at(i);
        *started += ((uint64_t)atomic_load_explicit(&slot->gen, memory_order_relaxed) + 1) / 2;
        *unsampled += __atomic_load_n(&slot->n_unsampled, __ATOMIC_RELAXED);
        *queued += __atomic_load_n(&slot->n_queued, __ATOMIC_RELAXED);
    }
}

void sf_span_pool_before_fork(void)
{
    sf_lock_take(&grow_lock);
}

void sf_span_pool_after_fork(bool is_child)
{
    unsigned n = atomic_load(&sf_span_pool_n_chunks);
    if (!is_child) {
        sf_lock_give(&grow_lock);
        return;
    }
    sf_lock_reset(&grow_lock);
    for (uint32_t i = 0; i < n * SF_POOL_CHUNK; i++) {
        struct sf_span_slot *slot = sf_span_pool_at(i);
        if (sf_lock_try(&slot->lock)) {
            sf_lock_give(&slot->lock);
            continue;
        }
        /* Its buffer may be inconsistent: a thread that no longer exists was changing it. */
        slot->body = (struct sf_buf){0};
        slot->tracestate = NULL;
        sf_lock_reset(&slot->lock);
    }
}
