/* bloom_fuzz.c - any bytes as a filter (no place outside it is requested), and any keys as a set
 * (no key is missing from the filter made of it, whatever number of keys it was sized for). */
#include "base/hash.h"
#include "base/heap.h"
#include "base/invariant.h"
#include "base/num.h"
#include "block/format/bloom.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_buf copy = {0}, filter = {0};
    size_t n = size / 8;
    uint64_t *keys = sf_heap_new_n(n + 1, sizeof(*keys));

    sf_buf_reserve(&copy, 1);
    sf_buf_add(&copy, data, size);
    for (uint64_t i = 0; i < 64; i++)
        sf_bloom_has(sf_buf_bytes(&copy), sf_hash(&i, sizeof(i)));
    SF_ASSERT(keys);
    for (size_t i = 0; i < n; i++)
        keys[i] = sf_load_u64le(data + i * 8);
    SF_ASSERT(sf_bloom_build(&filter, keys, n, size % 8 * n / 8) == SF_OK);
    for (size_t i = 0; i < n; i++)
        SF_ASSERT(sf_bloom_has(sf_buf_bytes(&filter), keys[i]));
    sf_heap_free(keys);
    sf_buf_done(&copy);
    sf_buf_done(&filter);
    return 0;
}
