/* Recordings end, whatever their chunks, types and constants point to, and places are in range. The
 * bytes serve as the labels beside themselves, too. */
#include "fuzz/profile_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_profile_hint hint = {.format = SF_STR("jfr"), .max_frames = 20};
    profile_fuzz_run(data, size, &hint);
    hint.jfr_labels = (sf_str){(const char *)data, size < 200 ? size : 200};
    return profile_fuzz_run(data, size, &hint);
}
