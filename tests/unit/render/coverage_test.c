#include "render/coverage.h"

#include "test.h"

TEST(coverage, says_what_its_lists_leave_out)
{
    struct sf_coverage_gap gap = {1000, 2000};
    struct sf_coverage_type type = {.type = SF_STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds"),
                                    .n_profiles = 9,
                                    .gaps = &gap,
                                    .n_gaps = 1,
                                    .n_more_gaps = 4,
                                    .gap_ns = 5000};
    struct sf_coverage c = {.service = SF_STR("shop"),
                            .types = &type,
                            .n_types = 1,
                            .n_more_types = 3,
                            .n_more_skews = 7};
    struct sf_buf out = {0};
    static const char *const texts[] = {"5 gaps of", "and 3 more types",
                                        "7 calls of further callers"};
    static const char *const fields[] = {"\"moreGaps\":4", "\"moreTypes\":3",
                                         "\"moreSkewedCalls\":7"};
    for (int is_json = 0; is_json < 2; is_json++) {
        sf_buf_reset(&out);
        if (is_json)
            sf_coverage_json(&c, &out);
        else
            sf_coverage_text(&c, &out);
        sf_buf_add_u8(&out, 0);
        for (int i = 0; i < 3; i++)
            if (!strstr((char *)out.p, is_json ? fields[i] : texts[i]))
                fail_msg("no '%s' in: %s", is_json ? fields[i] : texts[i], (char *)out.p);
    }
    sf_buf_done(&out);
}
