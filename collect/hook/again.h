/* again.h - calls that the kernel does not take up again after a signal: sleeping, polling, waiting
 * with an end.
 *
 * A CPU clock counts what a thread does inside the kernel, too. So now and then a sample falls into
 * the few microseconds in which such a call goes to sleep or has been woken for nothing, and its
 * signal would end the call: EINTR, which the program has not earned. The sampler's handler counts
 * when it finds a system call that was ended that way; when no other code's handler stood between,
 * the hook takes the call up for the time that is left. A signal of the program's that arrives
 * while the sampler's handler runs is handled without EINTR for the call: as if it had come a
 * microsecond before it. */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/time_unit.h"
#include "collect/lib/cpu_profiler.h"
#include "collect/sys/clock.h"

struct sf_again {
    uint64_t n_ended; /* calls that the sampler has ended in this thread */
    int64_t end_ns;   /* when the time is over; 0: never, or no one waits for it */
    int saved;        /* errno, for a call that succeeds */
};

/* `ns` at most 0: the call has no end, or is over at once. */
static inline struct sf_again sf_again_begin(int64_t ns)
{
    struct sf_again a = {sf_cpu_samples_self.n_ended, 0, errno};
    if (ns > 0 && sf_cpu_profiler_is_on())
        a.end_ns = sf_clock_mono_ns() + ns;
    return a;
}

/* True: the sampler alone has ended the call; errno is what it was. */
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

/* Milliseconds as poll takes them, rounded up. */
static inline int sf_again_left_ms(const struct sf_again *a)
{
    return (int)((sf_again_left_ns(a) + 999999) / SF_NS_PER_MS);
}
