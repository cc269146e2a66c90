#include "collect/lib/runnable.h"

#include <stdatomic.h>

#include "collect/sys/tasks.h"

/* Both in one word, so that a span never sees one without the other: the sum in the lower 40 bits,
 * the number above. The number may overflow: only differences are used. */
enum { SUM_BITS = 40 };
#define SUM_MASK (((uint64_t)1 << SUM_BITS) - 1)

static struct {
    atomic_uint_fast64_t sum;
    atomic_bool is_used;
} r;

struct sf_runnable sf_runnable_now(void)
{
    if (!atomic_load_explicit(&r.is_used, memory_order_relaxed))
        atomic_store_explicit(&r.is_used, true, memory_order_relaxed);
    return (struct sf_runnable){atomic_load_explicit(&r.sum, memory_order_relaxed)};
}

void sf_runnable_read(bool is_collecting)
{
    uint64_t n = sf_tasks_host_runnable();
    if (n == 0)
        return; /* cannot be read: at least this thread is runnable */
    n -= is_collecting;
    atomic_fetch_add_explicit(&r.sum, ((uint64_t)1 << SUM_BITS) + n, memory_order_relaxed);
}

void sf_runnable_turn(void)
{
    if (atomic_load_explicit(&r.is_used, memory_order_relaxed))
        sf_runnable_read(true);
}

int64_t sf_runnable_mean(struct sf_runnable from, struct sf_runnable to)
{
    uint64_t all = to.sum - from.sum, n = all >> SUM_BITS;
    return n > 0 ? (int64_t)(((all & SUM_MASK) + n / 2) / n) : 0;
}
