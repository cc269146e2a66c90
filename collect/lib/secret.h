/* secret.h - random in each process: what the hashes of the library's tables begin with.
 *
 * Trace ids and tracestate come with requests of other people's, and a program may make attribute
 * keys of what it was sent. With an open hash a sender could choose ids that share a slot, or a key
 * that is taken for another. The kernel gives every program 16 random bytes at its start: they cost
 * no call that could fail or block, and are the same in signal handlers and after a fork. Nothing
 * made of them leaves the process. */
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

/* One more number into a hash that began with the secret. */
static inline uint64_t sf_secret_mix(uint64_t hash, uint64_t v)
{
    __uint128_t mixed = (__uint128_t)(hash ^ v) * 0xd6e8feb86659fd93u;
    return (uint64_t)mixed ^ (uint64_t)(mixed >> 64);
}
