/* Whatever stands in headers and frames of perf's text, what is read ends as samples in range. */
#include "fuzz/profile_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_profile_hint hint = {
        .format = SF_STR("perf-script"), .max_frames = 20, .from_ns = 1700000000000000000};
    return profile_fuzz_run(data, size, &hint);
}
