/* bins_fuzz.c - any bytes as bins; numbers that decode encode to something that decodes to the
 * same.
 */
#include <stdlib.h>

#include "base/invariant.h"
#include "base/num.h"
#include "block/format/bins.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sf_bins_work work;
    static int64_t vals[SF_BINS_VALUES_MAX], again[SF_BINS_VALUES_MAX];
    struct sf_buf copy = {0}, b = {0};
    if (size < 2)
        return 0;
    uint32_t n = 1 + sf_load_u16le(data) % SF_BINS_VALUES_MAX;
    sf_buf_reserve(&copy, 1);
    sf_buf_add(&copy, data + 2, size - 2);
    struct sf_cursor c = sf_cursor_of(sf_buf_bytes(&copy));
    if (sf_bins_decode(&c, vals, n)) {
        sf_bins_encode(&b, vals, n, &work);
        SF_ASSERT(sf_buf_ok(&b));
        c = sf_cursor_of(sf_buf_bytes(&b));
        SF_ASSERT(sf_bins_decode(&c, again, n) && sf_cursor_left(&c) == 0);
        SF_ASSERT(memcmp(vals, again, n * sizeof(*vals)) == 0);
    }
    sf_buf_done(&copy);
    sf_buf_done(&b);
    return 0;
}
