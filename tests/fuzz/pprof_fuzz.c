/* Whatever decodes as pprof has its places in range; the same bytes as an earlier dump of
 * themselves leave no difference behind that breaks that. */
#include "fuzz/profile_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_profile_hint hint = {.format = SF_STR("pprof"), .spy = SF_STR("rbspy")};
    profile_fuzz_run(data, size, &hint);
    hint.prev = (sf_str){(const char *)data, size};
    return profile_fuzz_run(data, size, &hint);
}
