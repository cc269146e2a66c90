/* sample_sums.h - sums of samples without times, per series, stack, thread and state: a trace of a
 * million calls with the same stacks needs no million samples. Samples with times are kept
 * individually. Private to this module. */
#pragma once
#include "decode/profile_build.h"

struct sf_sample_sums {
    struct sf_profile_build *b;
    struct sf_table at;
    struct sf_profile_list places; /* of samples in the builder */
};

void sf_sample_sums_add(struct sf_sample_sums *t, const struct sf_sample *s);
