/* hash.h - XXH3, used for all hashes and checksums of stored data. */
#pragma once
#include <stdint.h>

#include "base/str.h"

uint64_t sf_hash(const void *p, size_t len);
uint64_t sf_hash_seeded(const void *p, size_t len, uint64_t seed);
static inline uint64_t sf_hash_str(sf_str s)
{
    return sf_hash(s.p, s.len);
}
/* Mixes one more number into a hash; order matters. */
static inline uint64_t sf_hash_mix(uint64_t hash, uint64_t v)
{
    hash ^= v + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93u;
    hash ^= hash >> 32;
    return hash;
}
