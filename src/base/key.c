#include "base/key.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/invariant.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t sf_key_secret[24];

_Static_assert(sizeof(sf_key_secret) >= XXH3_SECRET_SIZE_MIN, "XXH3 asks for a longer secret");

uint64_t sf_key(const void *p, size_t len)
{
    return XXH3_64bits_withSecret(p, len, sf_key_secret, sizeof(sf_key_secret));
}

/* The two multipliers are made odd and large: with a small one the high half of the hash, which
 * selects the slot, would have few bits set. */
static void key_settle(void)
{
    sf_key_secret[1] |= 1 | UINT64_C(1) << 63;
    sf_key_secret[3] |= 1 | UINT64_C(1) << 63;
}

void sf_key_fix(uint64_t seed)
{
    for (size_t i = 0; i < sizeof(sf_key_secret) / sizeof(*sf_key_secret); i++) {
        uint64_t x = seed += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        sf_key_secret[i] = x ^ x >> 31;
    }
    key_settle();
}

/* SF_TEST_KEY_SEED: the same secret in each run, for tests that compare two runs. */
static bool has_seed(uint64_t *out)
{
    const char *given = secure_getenv("SF_TEST_KEY_SEED");
    char *end = NULL;
    if (!given || !*given)
        return false;
    *out = strtoull(given, &end, 10);
    return *end == 0;
}

__attribute__((constructor)) static void choose_secret(void)
{
    uint64_t seed;
    if (has_seed(&seed)) {
        sf_key_fix(seed);
        return;
    }
    uint8_t *at = (uint8_t *)sf_key_secret, *end = at + sizeof(sf_key_secret);
    while (at < end) {
        ssize_t got = getrandom(at, (size_t)(end - at), 0);
        /* Without flags getrandom() waits for entropy and fails only for a bad pointer or a
         * signal. */
        SF_ASSERT(got > 0 || errno == EINTR);
        at += got > 0 ? got : 0;
    }
    key_settle();
}
