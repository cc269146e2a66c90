/* Trees and tries end, however deep or wide they claim to be. */
#include "fuzz/profile_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_profile_hint hint = {.format = SF_STR("tree"), .max_frames = 20};
    profile_fuzz_run(data, size, &hint);
    hint.format = SF_STR("trie");
    return profile_fuzz_run(data, size, &hint);
}
