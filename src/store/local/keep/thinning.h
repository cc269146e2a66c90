/* thinning.h - which detail rows a merge deletes: those of traces that the verdict on their hour
 * does not keep. Aggregates always hold every sample. */
#pragma once
#include "block/profile/profile_block.h"
#include "store/local/keep/pinned.h"

struct sf_run;

struct sf_thinning { /* for one output of a merge: one tenant and one hour */
    struct sf_local *l;
    bool is_on; /* a verdict exists, and deletes rows */
    /* Past retention.detail: only rows of pinned traces are kept. */
    bool is_pins_only;
    struct sf_verdict verdict;
    struct sf_arena arena; /* of the verdict */
    struct sf_pinned pins; /* those made after the verdict; with is_pins_only: all */
    uint64_t n_left_out;
};

struct sf_thinning_row { /* the ids of a detail row that decide whether it is kept */
    const struct sf_profile_detail *d;
    uint64_t process; /* sf_process_hash; 0: not given */
    sf_str service;
    bool is_uploaded; /* uploaded for one request */
};

/* `window` is the hour. Fails if the verdict cannot be read, except for a damaged one: that is
 * moved aside, and all rows are kept until the hour gets another verdict. */
enum sf_err sf_thinning_begin(struct sf_thinning *t, struct sf_local *l, uint32_t tenant,
                              int64_t window, bool is_hour, struct sf_why *why);
/* The same with only the pins of a tenant (0: of any). */
enum sf_err sf_thinning_begin_pins(struct sf_thinning *t, struct sf_local *l, uint32_t tenant,
                                   struct sf_why *why);
void sf_thinning_end(struct sf_thinning *t);
/* Does the verdict apply to the rows of this block? */
bool sf_thinning_concerns(const struct sf_thinning *t, const struct sf_run *run);
bool sf_thinning_keeps(struct sf_thinning *t, const struct sf_thinning_row *row);

/* Rewrites one block to which a verdict was not applied yet. The caller holds merge_lock. */
enum sf_err sf_thinning_work(struct sf_local *l, struct sf_why *why);
