/* A body of Zipkin's, JSON when it begins as one, is refused or becomes OTLP in which every span is
 * whole and none is rejected. */
#include <stdint.h>

#include "fuzz/span_checks.h"

#include "decode/zipkin/zipkin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool is_json = size && data[0] == '[';
    struct sf_buf otlp = {.max = 1 << 20};
    if (!sf_zipkin_to_otlp((sf_bytes){data, size}, is_json, 1, &otlp, NULL))
        sf_span_checks_run(sf_buf_bytes(&otlp), false);
    sf_buf_done(&otlp);
    return 0;
}
