#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t sf_hash(const void *p, size_t len)
{
    return XXH3_64bits(p, len);
}

uint64_t sf_hash_seeded(const void *p, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(p, len, seed);
}
