/* again.h - restarts system calls that the kernel does not restart after a signal: sleeping,
 * polling, waiting with a timeout.
 *
 * A CPU clock also counts the time that a thread spends in the kernel. So a sampling signal may
 * arrive in the few microseconds in which such a call goes to sleep or wakes up, and the call would
 * fail with EINTR, which the program does not expect. The sampler's handler counts the calls it has
 * interrupted; if no other handler ran in between, the hook restarts the call for the remaining
 * time. A signal of the program's own that arrives while the sampler's handler runs does not give
 * EINTR: as if it had come just before the call. */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/time_unit.h"
#include "collect/lib/cpu_profiler.h"
#include "collect/sys/clock.h"

struct sf_again {
    uint64_t n_ended; /* calls of this thread that the sampler has interrupted */
    int64_t end_ns;   /* when the call times out; 0: never, or not needed */
    int saved;        /* errno to restore when the call succeeds */
};

/* `ns` of 0 or less: the call has no timeout, or returns at once. */
static inline struct sf_again sf_again_begin(int64_t ns)
{
    struct sf_again a = {sf_cpu_samples_self.n_ended, 0, errno};
    if (ns > 0 && sf_cpu_profiler_is_on())
        a.end_ns = sf_clock_mono_ns() + ns;
    return a;
}

/* True: only the sampler has interrupted the call; errno is restored. */
static inline bool sf_again_wants(struct sf_again *a)
{
    if (__builtin_expect(a->n_ended == sf_cpu_samples_self.n_ended, 1))
        return false;
    a->n_ended = sf_cpu_samples_self.n_ended;
    errno = a->saved;
    return true;
}

/* At least 0. */
static inline int64_t sf_again_left_ns(const struct sf_again *a)
{
    int64_t left = a->end_ns - sf_clock_mono_ns();
    return left > 0 ? left : 0;
}

static inline struct timespec sf_again_left(const struct sf_again *a)
{
    int64_t left = sf_again_left_ns(a);
    return (struct timespec){(time_t)(left / SF_NS_PER_S), (long)(left % SF_NS_PER_S)};
}

static inline int64_t sf_again_ns_of(const struct timespec *t)
{
    if (!t || t->tv_sec < 0 || t->tv_sec > 1000000000 || t->tv_nsec < 0)
        return 0;
    return (int64_t)t->tv_sec * SF_NS_PER_S + t->tv_nsec;
}

/* The remaining time in milliseconds for poll, rounded up. */
static inline int sf_again_left_ms(const struct sf_again *a)
{
    return (int)((sf_again_left_ns(a) + 999999) / SF_NS_PER_MS);
}
