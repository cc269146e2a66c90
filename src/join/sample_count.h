/* sample_count.h - the number of samples that a profiler took, derived from values.
 *
 * Profiles that add up equal stacks have one record for several samples, each worth one period. */
#pragma once
#include "model/profile.h"

/* Does each sample represent one period of the measured quantity? */
bool sf_sample_count_is_known(const struct sf_profile_type *type, int64_t period);
/* The number of samples behind `value`; at least the number of records. */
double sf_sample_count(const struct sf_profile_type *type, int64_t period, int64_t value,
                       uint64_t n_samples);
/* Are there too few samples, of a profiler that samples time, to report more than their number?
 * Never true for measured values (allocations, waits). */
bool sf_sample_count_is_few(const struct sf_profile_type *type, int64_t period, double taken);
