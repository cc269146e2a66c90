#include "collect/lib/sample_ring.h"

#include <string.h>

static void sample_ring_put(struct sf_sample_ring *r, unsigned at, uint64_t word)
{
    r->words[at % SF_RING_WORDS] = word;
}

static uint64_t sample_ring_get(const struct sf_sample_ring *r, unsigned at)
{
    return r->words[at % SF_RING_WORDS];
}

bool sf_sample_ring_put(struct sf_sample_ring *r, const struct sf_raw_sample *s)
{
    unsigned head = atomic_load_explicit(&r->head, memory_order_relaxed);
    unsigned tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    uint64_t ids[3];

    if (SF_RING_WORDS - (head - tail) < SF_SAMPLE_HEAD + (unsigned)s->n_frames) {
        atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
        return false;
    }
    memcpy(ids, s->trace_id, 16);
    memcpy(ids + 2, s->span_id, 8);
    sample_ring_put(r, head++,
                    s->n_frames | (uint64_t)s->end << 16 | (uint64_t)s->kind << 24 |
                        (uint64_t)s->wait << 32);
    sample_ring_put(r, head++, s->thread);
    sample_ring_put(r, head++, s->time_ns);
    sample_ring_put(r, head++, s->values[0]);
    sample_ring_put(r, head++, s->values[1]);
    for (int i = 0; i < 3; i++)
        sample_ring_put(r, head++, ids[i]);
    for (unsigned i = 0; i < s->n_frames; i++)
        sample_ring_put(r, head++, s->frames[i]);
    atomic_store_explicit(&r->head, head, memory_order_release);
    return true;
}

bool sf_sample_ring_get(struct sf_sample_ring *r, struct sf_raw_sample *out)
{
    unsigned tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    unsigned head = atomic_load_explicit(&r->head, memory_order_acquire);
    uint64_t first, ids[3];

    if (head == tail)
        return false;
    first = sample_ring_get(r, tail++);
    out->n_frames = (uint16_t)first;
    out->end = (uint8_t)(first >> 16);
    out->kind = (uint8_t)(first >> 24);
    out->wait = (uint8_t)(first >> 32);
    out->thread = (uint32_t)sample_ring_get(r, tail++);
    out->time_ns = sample_ring_get(r, tail++);
    out->values[0] = sample_ring_get(r, tail++);
    out->values[1] = sample_ring_get(r, tail++);
    for (int i = 0; i < 3; i++)
        ids[i] = sample_ring_get(r, tail++);
    memcpy(out->trace_id, ids, 16);
    memcpy(out->span_id, ids + 2, 8);
    for (unsigned i = 0; i < out->n_frames && i < SF_SAMPLE_FRAMES; i++)
        out->frames[i] = sample_ring_get(r, tail + i);
    tail += out->n_frames;
    atomic_store_explicit(&r->tail, tail, memory_order_release);
    return true;
}

bool sf_sample_ring_is_filling(const struct sf_sample_ring *r)
{
    return atomic_load_explicit(&r->head, memory_order_relaxed) -
               atomic_load_explicit(&r->tail, memory_order_relaxed) >
           SF_RING_WORDS / 2;
}

bool sf_sample_ring_is_empty(const struct sf_sample_ring *r)
{
    return atomic_load(&r->head) == atomic_load(&r->tail);
}
