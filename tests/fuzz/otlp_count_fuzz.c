/* Any bytes as a request of metrics or logs, in protobuf and JSON: refused with a sentence, or
 * counted, and never more items than there are bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "decode/otlp/otlp_count.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(enum sf_err err, uint64_t n, size_t size, const struct sf_why *why)
{
    if (err ? !why->text[0] || n : n > size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sf_arena arena;
    uint8_t *copy = malloc(size + !size);
    if (!copy || (!arena.base && !sf_arena_init(&arena, 1 << 20)))
        abort();
    if (size)
        memcpy(copy, data, size);
    for (int signal = SF_OTLP_METRICS; signal <= SF_OTLP_LOGS; signal++) {
        struct sf_why why = {0};
        uint64_t n = 0;
        enum sf_err err = sf_otlp_count_pb((enum sf_otlp_signal)signal, (sf_bytes){copy, size}, &n,
                                           &why);
        check(err, n, size, &why);
        n = 0;
        sf_arena_reset(&arena);
        err = sf_otlp_count_json((enum sf_otlp_signal)signal, (sf_bytes){copy, size}, &arena, &n,
                                 &why);
        check(err, n, size, &why);
    }
    free(copy);
    return 0;
}
