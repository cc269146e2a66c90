/* Rows in RowBinary as a shard answers them: reads stay inside, counts are bounded by what follows,
 * and what was read is what writing gives again. */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "wire/row_binary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(sf_str s, uint64_t number)
{
    struct sf_buf b = {0};
    struct sf_row_reader r;
    sf_row_add_str(&b, s);
    sf_buf_add_u64le(&b, number);
    r = sf_row_reader_init(sf_buf_bytes(&b));
    SF_ASSERT(sf_str_eq(sf_row_binary_str(&r), s));
    SF_ASSERT(sf_row_binary_u64(&r) == number);
    SF_ASSERT(!sf_row_more(&r) && !sf_row_binary_check(&r, NULL));
    sf_buf_done(&b);
}

/* A row of each type there is; the first byte of each value is not special, so all inputs get far.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct sf_row_reader r;
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    r = sf_row_reader_init((sf_bytes){copy, size});
    while (sf_row_more(&r)) {
        sf_str s = sf_row_binary_str(&r), id = sf_row_binary_fixed(&r, 16);
        uint64_t number = sf_row_binary_u64(&r);
        uint32_t n = sf_row_binary_count(&r, 8);
        SF_ASSERT(n <= size / 8);
        for (uint32_t i = 0; i < n; i++)
            (void)sf_row_binary_f64(&r);
        n = sf_row_binary_count(&r, 1);
        SF_ASSERT(n <= size);
        for (uint32_t i = 0; i < n && !r.fault; i++)
            SF_ASSERT(sf_row_binary_str(&r).len <= size);
        (void)sf_row_binary_u32(&r);
        (void)sf_row_binary_u16(&r);
        (void)sf_row_binary_u8(&r);
        SF_ASSERT(id.len == 16 || r.fault);
        if (!r.fault)
            check_again(s, number);
    }
    SF_ASSERT(r.at == r.end);
    SF_ASSERT((sf_row_binary_check(&r, NULL) == SF_OK) == !r.fault);
    free(copy);
    return 0;
}
