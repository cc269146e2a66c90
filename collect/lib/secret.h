/* secret.h - a random secret of the process, with which the hashes of the library's tables are
 * seeded.
 *
 * Trace ids and tracestate come from other systems' requests, and a program may use received data
 * as attribute keys. With an unseeded hash a sender could choose colliding ids, or a key with the
 * hash of another. The kernel gives every program 16 random bytes at its start: reading them needs
 * no call that could fail or block, and they are the same in signal handlers and after a fork. No
 * value derived from them leaves the process. */
#pragma once
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

static inline uint64_t sf_secret(void)
{
    const void *at = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    uint64_t half[2] = {0};
    __uint128_t mixed;
    if (at)
        memcpy(half, at, sizeof(half));
    mixed = (__uint128_t)(half[0] ^ 0x9e3779b97f4a7c15u) * (half[1] | 1);
    return (uint64_t)mixed ^ (uint64_t)(mixed >> 64);
}

/* Mixes one more number into a hash that was seeded with the secret. */
static inline uint64_t sf_secret_mix(uint64_t hash, uint64_t v)
{
    __uint128_t mixed = (__uint128_t)(hash ^ v) * 0xd6e8feb86659fd93u;
    return (uint64_t)mixed ^ (uint64_t)(mixed >> 64);
}
