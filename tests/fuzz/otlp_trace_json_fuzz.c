/* What decodes as OTLP JSON is whole (ids, places, kinds), comes in the same pieces, and reads
 * back the same after being written as protobuf or as the log's form. */
#include <stdint.h>

#include "fuzz/span_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sf_span_checks_run((sf_bytes){data, size}, true);
    return 0;
}
