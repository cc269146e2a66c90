/* Any bytes as what a server tells a collector: what is understood is within its bounds. */
#include <stdlib.h>
#include <string.h>

#include "collect/lib/control_order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_control_order d = {0};
    char *copy = calloc(1, size + !size);
    if (size)
        memcpy(copy, data, size);
    if (sf_control_order_parse((sf_str){copy, size}, &d)) {
        if (strlen(d.version) != SF_CONTROL_VERSION_CAP - 1 || d.cpu_hz > 1000 ||
            d.wall_hz > 1000 || d.budget_per_10000 > 10000 || d.rates_until_ms < 0)
            abort();
        if (d.capture[0] && (strlen(d.capture) != SF_CONTROL_VERSION_CAP - 1 || !d.capture_kinds ||
                             !d.capture_hz || d.capture_hz > 1000 || !d.capture_s))
            abort();
    }
    free(copy);
    return 0;
}
