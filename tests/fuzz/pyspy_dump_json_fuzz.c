/* Whatever the decoder of the JSON of py-spy dump is given, what it reads ends as samples in range.
 */
#include "fuzz/profile_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_profile_hint hint = {.format = SF_STR("py-spy-dump-json"), .max_frames = 20};
    return profile_fuzz_run(data, size, &hint);
}
