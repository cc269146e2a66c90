#include "os/lock_order.h"

#include "base/invariant.h"

enum sf_lock_rank sf_lock_order_breaks(const struct sf_locks_held *h, enum sf_lock_rank rank)
{
    for (unsigned i = 0; rank != SF_LOCK_ANY && i < h->n; i++) {
        if (h->ranks[i] >= rank)
            return (enum sf_lock_rank)h->ranks[i];
    }
    return SF_LOCK_ANY;
}

void sf_lock_order_add(struct sf_locks_held *h, enum sf_lock_rank rank)
{
    SF_ASSERT(h->n < SF_LOCKS_HELD);
    h->ranks[h->n++] = (uint8_t)rank;
}

void sf_lock_order_remove(struct sf_locks_held *h, enum sf_lock_rank rank)
{
    unsigned at = h->n;
    while (at > 0 && h->ranks[at - 1] != rank)
        at--;
    SF_ASSERT(at > 0); /* it must be held */
    for (; at < h->n; at++)
        h->ranks[at - 1] = h->ranks[at];
    h->n--;
}

const char *sf_lock_order_name(enum sf_lock_rank rank)
{
#define NAME(name, what) what,
    static const char *const names[SF_LOCKS] = {"a lock without a rank", SF_LOCK_RANKS(NAME)};
#undef NAME
    return names[rank];
}
