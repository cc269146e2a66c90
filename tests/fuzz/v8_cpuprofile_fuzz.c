/* Call trees of V8 end and stay in range, whoever links to whom. */
#include "fuzz/profile_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_profile_hint hint = {.format = SF_STR("cpuprofile"), .max_frames = 20};
    profile_fuzz_run(data, size, &hint);
    hint.from_ns = 1700000000000000000;
    return profile_fuzz_run(data, size, &hint);
}
