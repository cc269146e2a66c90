/* hook_thread.h - the hooks' data per thread.
 *
 * In initial-exec TLS, like the library's other block: no allocation at first use, and small. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "collect/lib/gap.h"
#include "collect/lib/sample_kind.h"
#include "collect/sys/guest_thread.h"

struct sf_hook_waits {   /* short waits; a long one is a sample by itself */
    uint32_t generation; /* generation of the profile that the fields below belong to */
    uint64_t mean_ns;    /* mean of the current gap; waits of this length are long */
    uint64_t left_ns;    /* waited time until the gap ends in a sample */
    uint64_t n, ns;      /* number and sum to be added to the next sample */
    uint64_t rest_ns;    /* remainder below a microsecond of the samples so far */
};

struct sf_hook_thread {
    uint64_t heap_left;       /* bytes until the next sample */
    uint64_t heap_set;        /* value of heap_left when it was last set */
    uint64_t heap_before;     /* bytes allocated before that */
    uint64_t heap_n;          /* objects allocated */
    uint32_t heap_generation; /* generation of the profile for which heap_left was drawn */
    uint64_t heap_mean;       /* mean of the gap that heap_left is the rest of */
    uint64_t heap_hit_mean;   /* mean of the gap that ended in the current sample; its weight */
    uint64_t heap_missed[2];  /* values of dropped samples */
    struct sf_gap_chance chance;
    struct sf_hook_waits mutex, block;
    uint64_t waited_ns[SF_WAITS]; /* sums of all waits, long and short */
};

extern __thread struct sf_hook_thread sf_hook_self;

/* Sets the bytes until the next sample and remembers those counted so far. */
static inline void sf_hook_set_left(struct sf_hook_thread *t, uint64_t left)
{
    t->heap_before += t->heap_set - t->heap_left;
    t->heap_left = t->heap_set = left;
}
/* All bytes that this thread has allocated. */
static inline uint64_t sf_hook_allocated(const struct sf_hook_thread *t)
{
    return t->heap_before + t->heap_set - t->heap_left;
}

/* Surround a hook's own work. False: the thread is already inside a hook, or is one of the
 * library's; then the hook must do nothing. */
static inline bool sf_hook_enter(void)
{
    if (sf_guest_is_at_work)
        return false;
    sf_guest_is_at_work = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}
static inline void sf_hook_leave(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    sf_guest_is_at_work = false;
}
