/* sample_count.h - how many samples a profiler took, by what its profile counts.
 *
 * Profiles that add up equal stacks send one record for several samples, each worth a period. */
#pragma once
#include "model/profile.h"

/* Each sample represents a period of what it measures. */
bool sf_sample_count_is_known(const struct sf_profile_type *type, int64_t period);
/* The samples behind `value`; at least the records themselves. */
double sf_sample_count(const struct sf_profile_type *type, int64_t period, int64_t value,
                       uint64_t n_samples);
/* Too few samples of a profiler of time to say more than how many there were. What was measured
 * (allocations, waits) is never that. */
bool sf_sample_count_is_few(const struct sf_profile_type *type, int64_t period, double taken);
