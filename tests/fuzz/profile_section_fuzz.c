/* profile_section_fuzz.c - one section from nowhere in a block of profiles that is otherwise whole.
 * Built once for each section; SECTION says which, WITHOUT which one blocks of format 1 do not have
 * (0: a block of today, SF_PROFILE_SECTIONS: one of format 2). The section's first owner gets the
 * input. */
#include "block/profile/profile_block_writer.h"
#include "block/profile/profile_set.h"
#include "profile_walk.h"
#include "support/profile_base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct profile_base base;
    struct sf_buf bytes = {0};
    sf_bytes content = {data, size};
    if (!base.bytes.p) {
        profile_base_make(&base);
        profile_base_put(&base, SECTION, WITHOUT, NULL, &bytes);
        SF_ASSERT(walk_profile_block(&bytes)); /* or no input would ever reach the section */
        bytes = (struct sf_buf){0};
    }
    profile_base_put(&base, SECTION, WITHOUT, &content, &bytes);
    walk_profile_block(&bytes);
    return 0;
}
