/* OTLP profiles have their places in range whatever version they are taken for; what is read as
 * JSON is bounded likewise. */
#include "fuzz/profile_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const versions[] = {"", "1.4", "1.7", "1.8", "1.9", "1.10"};
    struct sf_profile_hint hint = {.format = SF_STR("otlp"), .max_frames = 20};
    if (size && data[0] == '{') {
        hint.format = SF_STR("otlp-json");
        return profile_fuzz_run(data, size, &hint);
    }
    for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
        hint.otlp_version = sf_str_from(versions[i]);
        profile_fuzz_run(data, size, &hint);
    }
    return 0;
}
