#include "model/batch.h"

#include <stdatomic.h>

#include "base/account.h"
#include "base/heap.h"
#include "base/limits.h"

/* Arenas of ordinary requests are reused: a new one costs a page fault per 4 KiB decoded, more than
 * decoding itself (bench/load). Slots are taken and returned by atomic exchange, so no lock is
 * needed; an arena keeps at most 1 MiB after its reset, so the pool is limited to N_SPARE MiB. */
enum { N_SPARE = 8 };
static _Atomic(uint8_t *) spare[N_SPARE];

/* The reserved range of a spare arena is SF_LIMIT_ARENA_LEN; an arena uses `cap` bytes of it. */
enum { SPARE_LEN = 1 << 20 };

static bool is_of_spare_size(size_t cap)
{
    return cap >= SPARE_LEN && cap <= SF_LIMIT_ARENA_LEN;
}

static bool take_arena(struct sf_arena *a, size_t cap)
{
    uint8_t *base = NULL;
    if (!is_of_spare_size(cap))
        return sf_arena_init(a, cap);
    for (int i = 0; !base && i < N_SPARE; i++)
        base = atomic_exchange(&spare[i], NULL);
    if (!base)
        base = sf_heap_pages(SF_LIMIT_ARENA_LEN);
    *a = (struct sf_arena){.base = base, .cap = base ? cap : 0};
    return base && (!sf_account_is_open() || sf_arena_count(a));
}

static void give_arena(struct sf_arena *a)
{
    if (is_of_spare_size(a->cap)) {
        sf_arena_reset(a);
        sf_account_give(sf_arena_touched(a));
        sf_heap_free(a->touched);
        a->touched = NULL;
        for (int i = 0; i < N_SPARE; i++) {
            uint8_t *none = NULL;
            if (atomic_compare_exchange_strong(&spare[i], &none, a->base))
                return;
        }
        a->cap = SF_LIMIT_ARENA_LEN;
    }
    sf_arena_done(a);
}

struct sf_batch *sf_batch_new(size_t arena_cap)
{
    struct sf_batch *b = sf_heap_new(sizeof(*b));
    if (!b)
        return NULL;
    if (!take_arena(&b->arena, arena_cap)) {
        sf_batch_free(b);
        return NULL;
    }
    return b;
}

static bool batch_is_in(const struct sf_arena *a, sf_bytes part)
{
    return part.len && part.p >= a->base && part.p < a->base + a->cap;
}

void sf_batch_drop_rows(struct sf_batch *b)
{
    for (; b; b = b->next) {
        b->spans = NULL;
        b->profiles = NULL;
        if (!b->plain.p || b->log.body.p < b->plain.p || b->log.body.p >= b->plain.p + b->plain.len)
            sf_buf_done(&b->plain);
        if (b->arena.base && !batch_is_in(&b->arena, b->log.meta) &&
            !batch_is_in(&b->arena, b->log.body)) {
            give_arena(&b->arena);
            b->arena = (struct sf_arena){0};
        }
    }
}

void sf_batch_free(struct sf_batch *b)
{
    while (b) {
        struct sf_batch *next = b->next;
        if (b->arena.base)
            give_arena(&b->arena);
        sf_buf_done(&b->body);
        sf_buf_done(&b->plain);
        sf_heap_free(b);
        b = next;
    }
}
