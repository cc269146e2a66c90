/* profile_mem.h - profiles received since the last flush: a set per tenant and service.
 *
 * All writers add to one object; a flush takes it and a new one begins. It stays readable until its
 * block is in the snapshot. Reference-counted. The mutex guards its content. It is held while a
 * batch is added and logged, so that readers never see samples that are undone, and while a query
 * sums what it finds, which takes milliseconds for the few megabytes of one flush. */
#pragma once
#include <stdatomic.h>

#include "block/profile/profile_set.h"
#include "model/batch.h"
#include "os/thread.h"
#include "store/local/budget.h"

enum { SF_PROFILE_MEM_LAST = 256 };

struct sf_profile_mem {
    atomic_uint refs;
    struct sf_budget *budget;
    uint64_t gen; /* the generation whose flush takes it */
    /* The last record before the first that may be here; guarded by prof_lock. */
    uint64_t after_lsn;
    struct sf_profile_mem *next; /* next in the list of those being flushed */
    /* Guards all below. Taken under the gate by appends, alone by queries; before rule_lock and the
     * log's lock. */
    struct sf_mutex lock;
    struct sf_dict keys; /* tenant and service of sets[i] */
    struct sf_profile_set **sets;
    struct sf_profile_mark *marks; /* of the sets that the current batch changed */
    bool *is_touched;
    uint32_t n_sets, cap_sets;
    uint32_t *touched;
    uint32_t n_touched;
    struct sf_arena scratch;
    /* What services had before the last flush, by the hash of their key: tables that begin with
     * their last size are not made again and again while they grow. */
    struct {
        uint64_t hash;
        struct sf_profile_set_sizes sizes;
    } last[SF_PROFILE_MEM_LAST];
    size_t counted_len;
    uint64_t n_samples, n_profiles;
};

struct sf_profile_mem *sf_profile_mem_new(struct sf_budget *budget); /* NULL: no memory */
struct sf_profile_mem *sf_profile_mem_ref(struct sf_profile_mem *m);
void sf_profile_mem_learn(struct sf_profile_mem *m, const struct sf_profile_mem *before);
void sf_profile_mem_unref(struct sf_profile_mem *m); /* NULL is fine */

/* Adds a piece of a request; several pieces may follow each other. Call with the lock held. On
 * failure, and when the request cannot be logged, undo reverts everything since the last keep. */
enum sf_err sf_profile_mem_add(struct sf_profile_mem *m, const struct sf_batch *b,
                               const struct sf_profile_index *index, struct sf_why *why);
void sf_profile_mem_undo(struct sf_profile_mem *m);
void sf_profile_mem_keep(struct sf_profile_mem *m); /* also updates the budget */
