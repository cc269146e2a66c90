/* Any text is a profile or an error: as folded stacks, and as one stack per line. */
#include "fuzz/profile_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_profile_hint hint = {.format = SF_STR("folded"), .max_frames = 20};
    profile_fuzz_run(data, size, &hint);
    hint.format = SF_STR("lines");
    hint.has_sample_rate = true;
    hint.sample_rate = 99;
    return profile_fuzz_run(data, size, &hint);
}
