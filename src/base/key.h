/* key.h - hashes keys for tables in memory.
 *
 * A sender chooses ids, names and values. With a hash that anybody can compute, it could choose ten
 * thousand that collide, and each lookup would visit all of them. So keys are hashed with a secret
 * that is random in each process and never leaves it: it is not written to files or answers, and
 * these do not depend on the order of a table.
 *
 * sf_hash (base/hash.h) is for values that are stored or compared between processes: checksums and
 * filters. A hash from a file or a sender may exclude a candidate, but it never selects a slot. */
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

/* Adds one more number of the key; `hash` is 0 or a result of sf_key. Order matters: `v` may itself
 * be the hash of a text, and without the rotation all keys of two equal texts would collide. */
static inline uint64_t sf_key_mix(uint64_t hash, uint64_t v)
{
    hash = hash << 29 | hash >> 35;
    hash = sf_key_fold(hash ^ v ^ sf_key_secret[0], sf_key_secret[1]);
    return sf_key_fold(hash ^ sf_key_secret[2], sf_key_secret[3]);
}

static inline uint64_t sf_key_u64(uint64_t v)
{
    return sf_key_mix(0, v);
}

/* For tests: the same secret in each run. To be called before the first table is made. For a whole
 * program, set the environment variable SF_TEST_KEY_SEED to a number. */
void sf_key_fix(uint64_t seed);
