/* Slices in any order, chunks of profiles and sampled stacks end as samples in range. */
#include "fuzz/profile_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_profile_hint hint = {.format = SF_STR("trace-event"),
                                   .max_frames = 20,
                                   .from_ns = size % 2 ? 1700000000000000000 : 0};
    return profile_fuzz_run(data, size, &hint);
}
