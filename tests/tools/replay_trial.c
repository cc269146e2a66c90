/* replay_trial.c - a fuzz target that breaks on demand, to test what replays corpora. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/replay.h"

static int one_input(const uint8_t *data, size_t size)
{
    if (size >= 3 && memcmp(data, "BUG", 3) == 0)
        abort();
    return 0;
}

const struct replay_target replay_targets[] = {{"trial", one_input, 0, 0}, {NULL, NULL, 0, 0}};
