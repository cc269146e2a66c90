/* heap_profiler.h - allocations and live memory by stack, sampled at random points of the sequence
 * of all allocated bytes.
 *
 * The allocator's hooks count bytes down to the next point and call this file only when one is
 * reached. A sampled object gets an address by which free recognises that it may be one: its last
 * twelve bits are 0, or 16 as for blocks that allocators map individually. So freeing any other
 * object costs one test. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/lib/hook_thread.h"
#include "collect/lib/profiler.h"

enum {
    SF_HEAP_MEAN = 512 * 1024, /* default number of bytes between points */
    SF_HEAP_ALIGN = 4096,
    SF_HEAP_MARK = 0xfef /* an address without any of these bits may be that of a sampled object */
};

#define SF_HEAP_KINDS (1u << SF_SAMPLES_ALLOC | 1u << SF_SAMPLES_INUSE)

struct sf_heap_held { /* a sampled object removed from the table, to be put back or discarded */
    const void *p;    /* NULL: it was not a sampled object */
    uint64_t body[8];
};

/* Allocated and in use are two kinds with a common profiler. */
extern const struct sf_profiler_source sf_heap_alloc_source, sf_heap_inuse_source;

/* ---- for the hooks ---- */

/* Called when a sampling point is reached; draws the next gap. True: this allocation of `len` bytes
 * is a sample, and sf_hook_enter() was called; sf_heap_profiler_add or sf_hook_leave must
 * follow. */
bool sf_heap_profiler_wants(struct sf_hook_thread *t, size_t len);
/* Adds `p`, which was allocated by a call that returns to `caller`. `p` NULL: it failed. Calls
 * sf_hook_leave(). */
void sf_heap_profiler_add(struct sf_hook_thread *t, const void *p, size_t len, const void *caller);
/* Number of sampled objects per class (hash) of addresses; 0 for nearly all. A freed block with
 * such an address is reused often: this count lets its later frees skip the table. */
enum { SF_HEAP_CLASSES = 1 << 16 };
extern atomic_ushort sf_heap_classes[SF_HEAP_CLASSES];
static inline atomic_ushort *sf_heap_class(const void *p)
{
    uint64_t page = (uintptr_t)p / SF_HEAP_ALIGN;
    return &sf_heap_classes[page * 0x9e3779b97f4a7c15u >> 48];
}
/* False: it is certainly not a sampled object. */
static inline bool sf_heap_may_be_sampled(const void *p)
{
    return __builtin_expect(!((uintptr_t)p & SF_HEAP_MARK), 0) &&
           atomic_load_explicit(sf_heap_class(p), memory_order_relaxed);
}
/* `p` is about to be freed: removes it, and stores it in `held` (NULL: discards it). */
void sf_heap_profiler_take(const void *p, struct sf_heap_held *held);
void sf_heap_profiler_put_back(const struct sf_heap_held *held); /* to be called if it was not freed
                                                                  * after all */

/* Estimates the memory that the program holds of what it allocated since the profile began. False:
 * no profile is on. */
bool sf_heap_profiler_inuse(int64_t *bytes, int64_t *objects);

/* Samples since the process started, and the mean of the gaps drawn now; 0: off. Any thread. */
void sf_heap_profiler_count(uint64_t *n_samples, uint64_t *mean);

/* In a hook: doubles the mean of gaps drawn from now on; until release, in the collecting thread.
 */
void sf_heap_profiler_brake(void);
void sf_heap_profiler_release(void);

/* Why the hooks cannot see allocations; constant text. NULL: they can. */
void sf_heap_profiler_set_blind(const char *why);
const char *sf_heap_profiler_blind(void);

void sf_heap_profiler_before_fork(void);
void sf_heap_profiler_after_fork(bool is_child); /* in the child the profiler is off */
