/* looks.h - how often a profiler looked, by what its profile counts. */
#pragma once
#include "model/profile.h"

/* Each sample stands for a period of what it measures. */
bool sf_looks_are_counted(const struct sf_profile_type *type, int64_t period);
/* Profiles that add up equal stacks send one sample for several looks, each worth a period. At
 * least the samples themselves. */
double sf_looks_count(const struct sf_profile_type *type, int64_t period, int64_t value,
                      uint64_t n_samples);
/* Too few looks of a profiler of time to say more than how many there were. What was measured
 * (allocations, waits) is never that. */
bool sf_looks_are_few(const struct sf_profile_type *type, int64_t period, double looks);
