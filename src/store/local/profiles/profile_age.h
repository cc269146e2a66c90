/* profile_age.h - what profiles lose before they go: after `full_resolution` all but the sums of
 * ten minutes, after the age of details their single samples. */
#pragma once
#include "store/local/engine.h"

struct sf_profile_ages { /* INT64_MIN: nothing is that old */
    int64_t coarse_before_ns, detail_before_ns;
};
struct sf_profile_ages sf_profile_ages_now(struct sf_local *l);
/* Rewrites one block that is due, if there is one. The caller holds merge_lock. */
enum sf_err sf_profile_age_work(struct sf_local *l, struct sf_why *why);
