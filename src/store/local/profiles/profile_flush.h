/* profile_flush.h - writes profiles from memory to level-0 blocks, one per memory and UTC day. */
#pragma once
#include "store/local/write/merge.h"

struct sf_profile_flush { /* what a flush has to write */
    struct sf_profile_plan {
        const struct sf_profile_mem *mem;
        int64_t day;
    } * list;
    size_t n;
    uint64_t gen;
};

/* Replaces the memory that profiles are added to; call with the gate held exclusively. The old one
 * has all records up to `lsn`. False: no memory, nothing changed. */
bool sf_profile_flush_switch(struct sf_local *l, uint64_t next_gen, uint64_t lsn);
/* Plans which blocks will be written for generations up to `gen`. */
enum sf_err sf_profile_flush_plan(struct sf_local *l, uint64_t gen, struct sf_profile_flush *out,
                                  struct sf_why *why);
/* Writes them with the given numbers, and appends their rows to `io` (which has space). On failure
 * none of these files is left behind. */
enum sf_err sf_profile_flush_write(struct sf_local *l, const struct sf_profile_flush *plan,
                                   const struct sf_merge *numbers, const uint64_t *dups,
                                   size_t n_dups, struct sf_merge_result *io, struct sf_why *why);
/* Drops the memories that were written. Call with prof_lock held. */
void sf_profile_flush_forget(struct sf_local *l, uint64_t gen);
void sf_profile_flush_done(struct sf_profile_flush *f);
