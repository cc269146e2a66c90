#include "collect/lib/thread.h"

#include "collect/sys/clock.h"

__thread struct sf_thread sf_thread_self;

/* The symbol outside profilers look for: a pointer to the record, NULL when there is none. */
SF_API extern __thread const void *otel_thread_ctx_v1;
__attribute__((used)) __thread const void *otel_thread_ctx_v1;

void sf_thread_prepare(struct sf_thread *t, uint32_t epoch)
{
    sf_chance_fill(t->chance, sizeof(t->chance));
    t->chance[0] |= 1; /* all zero would stay so */
    /* Another publisher in the global scope shares this variable; who came first keeps it. */
    if (!otel_thread_ctx_v1)
        otel_thread_ctx_v1 = t->record;
    atomic_signal_fence(memory_order_seq_cst);
    t->epoch = epoch;
}

static uint64_t rotate(uint64_t v, int by)
{
    return v << by | v >> (64 - by);
}

/* xoroshiro128**: 128 bits of state, about a nanosecond; ids are not secrets. */
uint64_t sf_thread_chance(struct sf_thread *t)
{
    uint64_t a = t->chance[0], b = t->chance[1], v;
    do {
        v = rotate(a * 5, 7) * 9;
        b ^= a;
        a = rotate(a, 24) ^ b ^ b << 16;
        b = rotate(b, 37);
    } while (!v);
    t->chance[0] = a;
    t->chance[1] = b;
    return v;
}
