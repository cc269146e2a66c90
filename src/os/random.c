#include "os/random.h"

#include <errno.h>
#include <sys/random.h>

#include "base/invariant.h"

void sf_random_fill(void *p, size_t len)
{
    uint8_t *at = p;
    while (len) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0) {
            /* Without flags getrandom() waits for entropy and fails only for a bad pointer or a
             * signal. */
            SF_ASSERT(errno == EINTR);
            continue;
        }
        at += got;
        len -= (size_t)got;
    }
}

uint64_t sf_random_u64(void)
{
    uint64_t v;
    sf_random_fill(&v, sizeof(v));
    return v;
}
