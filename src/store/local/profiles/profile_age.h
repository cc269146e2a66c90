/* profile_age.h - what is removed from profiles before they are deleted: after `full_resolution`
 * all but the sums of ten minutes, after the age of details their single samples. */
#pragma once
#include "store/local/engine.h"

struct sf_profile_ages { /* times before which data is removed; INT64_MIN: no data is that old */
    int64_t coarse_before_ns, detail_before_ns;
};
struct sf_profile_ages sf_profile_ages_now(struct sf_local *l);
/* Rewrites one block that is due, if there is one. The caller holds merge_lock. */
enum sf_err sf_profile_age_work(struct sf_local *l, struct sf_why *why);
