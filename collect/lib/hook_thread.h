/* hook_thread.h - what the hooks keep per thread.
 *
 * Initial-exec TLS, like the library's other block: no allocation at first touch, and small. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "collect/lib/gap.h"
#include "collect/lib/sample_kind.h"
#include "collect/sys/guest_thread.h"

struct sf_hook_waits { /* short ones; a long one is a sample by itself */
    uint64_t left_ns;  /* until the next stack is taken; 0: not drawn yet */
    uint64_t n, ns;    /* since the last one, for the next one to carry */
    uint64_t rest_ns;  /* below a microsecond, of the last sample, long or short */
};

struct sf_hook_thread {
    uint64_t heap_left;       /* bytes until the next sample */
    uint64_t heap_set;        /* value of heap_left when it was last set */
    uint64_t heap_before;     /* bytes allocated before that */
    uint64_t heap_n;          /* objects allocated */
    uint32_t heap_generation; /* of the profile that gap belongs to */
    uint64_t heap_missed[2];  /* values of samples that found no space */
    struct sf_gap_chance chance;
    struct sf_hook_waits mutex, block;
    uint64_t waited_ns[SF_WAITS]; /* all of them, long and short */
};

extern __thread struct sf_hook_thread sf_hook_self;

/* How far it is from here; what was passed so far is remembered. */
static inline void sf_hook_set_left(struct sf_hook_thread *t, uint64_t left)
{
    t->heap_before += t->heap_set - t->heap_left;
    t->heap_left = t->heap_set = left;
}
/* All bytes this thread ever asked its allocator for. */
static inline uint64_t sf_hook_allocated(const struct sf_hook_thread *t)
{
    return t->heap_before + t->heap_set - t->heap_left;
}

/* What a hook does for itself stands between these. False: it is inside one already, or the thread
 * is one of ours; leave. */
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
