/* live_objects.h - the sampled objects that have not been freed.
 *
 * Sets of eight addresses, one cache line each; an address may be in either of two sets of a small
 * table, or of a large one when those are full. Only the owner of an object may free it, so
 * removing needs no lock; adding needs none either: a free place is claimed by one atomic exchange.
 * A search for an object that is not there, the common case, reads two cache lines. When all its
 * sets are full, an object is not tracked and counted as lost. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SF_LIVE_MAX = 1 << 16 };

struct sf_live_object {
    uint64_t size;
    uint32_t stack;  /* id of the allocating stack, in the table of stacks */
    uint32_t thread; /* the allocating thread */
    uint8_t trace_id[16], span_id[8];
    int64_t time_ns; /* monotonic */
    uint64_t mean;   /* mean gap, in bytes, at which it was sampled; gives its weight */
};

struct sf_live_objects; /* opaque; in pages of its own */

struct sf_live_objects *sf_live_objects_new(void); /* NULL: no memory */
void sf_live_objects_free(struct sf_live_objects *all);
/* False: no space; the object was counted as lost. Any thread. */
bool sf_live_objects_add(struct sf_live_objects *all, const void *p,
                         const struct sf_live_object *o);
/* Removes it; false: it is not there. The caller owns `p`. */
bool sf_live_objects_take(struct sf_live_objects *all, const void *p, struct sf_live_object *out);
/* Calls `one` for every object that exists during the whole call. One thread at a time. */
void sf_live_objects_each(struct sf_live_objects *all,
                          void (*one)(const struct sf_live_object *o, void *arg), void *arg);
uint32_t sf_live_objects_n(const struct sf_live_objects *all);
uint64_t sf_live_objects_lost(struct sf_live_objects *all); /* number of lost objects since the last
                                                             * call */
