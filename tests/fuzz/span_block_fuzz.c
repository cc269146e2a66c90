/* span_block_fuzz.c - a whole block from nowhere. */
#include "block_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_buf bytes = {0};
    sf_buf_add(&bytes, data, size);
    walk_block(&bytes);
    return 0;
}
