/* thinning.h - which detail rows a merge leaves out, because they are not kept: those of traces
 * that the verdict on their hour does not keep. Aggregates hold every sample, always. */
#pragma once
#include "block/profile/profile_block.h"
#include "store/local/keep/pinned.h"

struct sf_run;

struct sf_thinning { /* of one output of a merge: one tenant and one hour */
    struct sf_local *l;
    bool is_on; /* there is a verdict that leaves rows out */
    /* Past retention.detail: only rows of pinned traces stay. */
    bool is_pins_only;
    struct sf_verdict verdict;
    struct sf_arena arena; /* of the verdict */
    struct sf_pinned pins; /* since the verdict */
    uint64_t n_left_out;
};

struct sf_thinning_row { /* what a row's table says of it */
    const struct sf_profile_detail *d;
    uint64_t process; /* sf_process_hash; 0: not given */
    sf_str service;
    bool is_uploaded; /* for one request, by hand */
};

/* `window` is the hour. A verdict that cannot be read is an error, but for a damaged one: that is
 * set aside, and all rows are kept until the hour has another. */
enum sf_err sf_thinning_begin(struct sf_thinning *t, struct sf_local *l, uint32_t tenant,
                              int64_t window, bool is_hour, struct sf_why *why);
/* The same by pins alone, of a tenant (0: of any). */
enum sf_err sf_thinning_begin_pins(struct sf_thinning *t, struct sf_local *l, uint32_t tenant,
                                   struct sf_why *why);
void sf_thinning_end(struct sf_thinning *t);
/* Does the verdict concern the rows of this block? */
bool sf_thinning_concerns(const struct sf_thinning *t, const struct sf_run *run);
bool sf_thinning_keeps(struct sf_thinning *t, const struct sf_thinning_row *row);

/* Rewrites a block that a verdict waits for; one at a time. The caller holds merge_lock. */
enum sf_err sf_thinning_work(struct sf_local *l, struct sf_why *why);
