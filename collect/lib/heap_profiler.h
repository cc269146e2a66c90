/* heap_profiler.h - allocations and live memory by stack, sampled at random points of the sequence
 * of all allocated bytes.
 *
 * The allocator's hooks count bytes down to the next point and come here only when one is passed.
 * A sampled object gets an address by which its free can tell that it may be one: its last twelve
 * bits are 0, or 16 as those of blocks that allocators map one by one. So freeing anything else
 * costs one test. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/lib/hook_thread.h"
#include "collect/lib/profiler.h"

enum {
    SF_HEAP_MEAN = 512 * 1024, /* bytes between points, unless given */
    SF_HEAP_ALIGN = 4096,
    SF_HEAP_MARK = 0xfef /* an address with none of these bits may be a sampled object's */
};

#define SF_HEAP_KINDS (1u << SF_SAMPLES_ALLOC | 1u << SF_SAMPLES_INUSE)

struct sf_heap_held { /* a sampled object taken out of the table, to be put back or forgotten */
    const void *p;    /* NULL: it was none */
    uint64_t body[8];
};

/* Allocated and in use are two kinds with one profiler behind them. */
extern const struct sf_profiler_source sf_heap_alloc_source, sf_heap_inuse_source;

/* ---- for the hooks ---- */

/* The gap is used up: draws the next. True: this allocation of `len` bytes is a sample, and the
 * hook has entered; sf_heap_profiler_add or sf_hook_leave must follow. */
bool sf_heap_profiler_wants(struct sf_hook_thread *t, size_t len);
/* `p` was allocated by a call that returns to `caller`. `p` NULL: it failed. Leaves the hook. */
void sf_heap_profiler_add(struct sf_hook_thread *t, const void *p, size_t len, const void *caller);
/* How many sampled objects may lie in pages of this one's class; 0 for nearly every address. A
 * freed block with a marked address is handed out again and again: its frees stop here. */
enum { SF_HEAP_CLASSES = 1 << 16 };
extern atomic_ushort sf_heap_classes[SF_HEAP_CLASSES];
static inline atomic_ushort *sf_heap_class(const void *p)
{
    uint64_t page = (uintptr_t)p / SF_HEAP_ALIGN;
    return &sf_heap_classes[page * 0x9e3779b97f4a7c15u >> 48];
}
/* False: it surely is not a sampled object. */
static inline bool sf_heap_may_be_sampled(const void *p)
{
    return __builtin_expect(!((uintptr_t)p & SF_HEAP_MARK), 0) &&
           atomic_load_explicit(sf_heap_class(p), memory_order_relaxed);
}
/* `p` is about to be freed: removes it, and stores it in `held` (NULL: discards it). */
void sf_heap_profiler_take(const void *p, struct sf_heap_held *held);
void sf_heap_profiler_put_back(const struct sf_heap_held *held); /* it was not freed after all */

/* What the program holds of what it allocated since the profile began, as far as sampling tells.
 * False: no profile is on. */
bool sf_heap_profiler_inuse(int64_t *bytes, int64_t *objects);

/* Why the hooks see nothing; borrowed permanently. NULL: they do. */
void sf_heap_profiler_set_blind(const char *why);
const char *sf_heap_profiler_blind(void);

void sf_heap_profiler_before_fork(void);
void sf_heap_profiler_after_fork(bool is_child); /* the child's is off */
