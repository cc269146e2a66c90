/* key.h - the hash of a key in a table in memory.
 *
 * A sender chooses ids, names and values. With a hash that everybody can compute it can choose ten
 * thousand that fall into one place, and each look-up walks over all of them. So keys are hashed
 * with a secret that is random in each process and never leaves it: not into a file, not into an
 * answer, and neither depends on the order of a table.
 *
 * sf_hash (base/hash.h) is for what is kept or compared between processes: checksums and filters. A
 * hash that came from a file or a sender may rule a candidate out; it never chooses a place. */
#pragma once
#include <stdint.h>

#include "base/str.h"

extern uint64_t sf_key_secret[24]; /* random before main starts */

uint64_t sf_key(const void *p, size_t len);

static inline uint64_t sf_key_fold(uint64_t a, uint64_t b)
{
    __uint128_t m = (__uint128_t)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static inline uint64_t sf_key_str(sf_str s)
{
    return sf_key(s.p, s.len);
}

/* One more number of the key; `hash` is 0 or what sf_key gave. Order matters. */
static inline uint64_t sf_key_mix(uint64_t hash, uint64_t v)
{
    hash = sf_key_fold(hash ^ v ^ sf_key_secret[0], sf_key_secret[1]);
    return sf_key_fold(hash ^ sf_key_secret[2], sf_key_secret[3]);
}

static inline uint64_t sf_key_u64(uint64_t v)
{
    return sf_key_mix(0, v);
}

/* Tests: the same secret in each run. Before the first table is made. For a whole program the
 * environment variable SF_TEST_KEY_SEED does it, a number. */
void sf_key_fix(uint64_t seed);
