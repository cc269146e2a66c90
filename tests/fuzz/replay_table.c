/* replay_table.c - the fuzz targets of one program, as meson.build lists them in REPLAY_TARGETS. */
#include "replay.h"

#include "block/format/section.h"
#include "block/profile/profile_block.h"

#define REPLAY(noun, source, section, without) \
    int source##_one_input(const uint8_t *data, size_t size);
REPLAY_TARGETS
#undef REPLAY

const struct replay_target replay_targets[] = {
#define REPLAY(noun, source, section, without) {#noun, source##_one_input, section, without},
    REPLAY_TARGETS /* ends with a comma */
    {NULL, NULL, 0, 0},
};
