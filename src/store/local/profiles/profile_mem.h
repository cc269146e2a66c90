/* profile_mem.h - profiles since the last flush: a set per tenant and service.
 *
 * All writers fill one; a flush takes it away whole and a fresh one begins. It stays readable until
 * its block counts. Counted; the mutex guards what is in it and is held while a batch is added and
 * logged, so a reader never sees samples that are reverted, and while a query adds up what it
 * finds, which for the few megabytes of one flush takes milliseconds. */
#pragma once
#include <stdatomic.h>

#include "block/profile/profile_set.h"
#include "model/batch.h"
#include "os/thread.h"
#include "store/local/budget.h"

struct sf_profile_mem {
    atomic_uint refs;
    struct sf_budget *budget;
    uint64_t gen;                /* the generation whose flush takes it */
    uint64_t after_lsn;          /* the record before the first that may be here: prof_lock */
    struct sf_profile_mem *next; /* in the list of those being flushed */
    /* Guards all below. Taken under the gate by appends, alone by queries; before rule_lock and the
     * log's lock. */
    struct sf_mutex lock;
    struct sf_dict keys; /* tenant and service of sets[i] */
    struct sf_profile_set **sets;
    struct sf_profile_mark *marks; /* of sets that the batch in hand touched */
    bool *is_touched;
    uint32_t n_sets, cap_sets;
    uint32_t *touched;
    uint32_t n_touched;
    struct sf_arena scratch;
    size_t counted_len;
    uint64_t n_samples, n_profiles;
};

struct sf_profile_mem *sf_profile_mem_new(struct sf_budget *budget); /* NULL: no memory */
struct sf_profile_mem *sf_profile_mem_ref(struct sf_profile_mem *m);
void sf_profile_mem_unref(struct sf_profile_mem *m); /* NULL is fine */

/* Adds a piece of a request; several pieces may follow each other. With the lock held. On failure,
 * and when the request cannot be logged, undo reverts all since the last keep. */
enum sf_err sf_profile_mem_add(struct sf_profile_mem *m, const struct sf_batch *b,
                               const struct sf_profile_index *index, struct sf_why *why);
void sf_profile_mem_undo(struct sf_profile_mem *m);
void sf_profile_mem_keep(struct sf_profile_mem *m); /* and tells the budget */
