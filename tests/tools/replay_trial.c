/* replay_trial.c - a fuzz target that breaks on demand, to test what replays corpora. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 3 && memcmp(data, "BUG", 3) == 0)
        abort();
    return 0;
}
