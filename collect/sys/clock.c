#include "collect/sys/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/time_unit.h"

static int64_t read_ns(clockid_t id)
{
    struct timespec t = {0};
#ifdef SF_UNDER_TSAN /* the thread sanitizer wraps clock_gettime, and handlers read the clock */
    syscall(SYS_clock_gettime, id, &t);
#else
    clock_gettime(id, &t);
#endif
    return (int64_t)t.tv_sec * SF_NS_PER_S + t.tv_nsec;
}

int64_t sf_clock_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t sf_clock_unix_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

int64_t sf_clock_boot_ns(void)
{
    return read_ns(CLOCK_BOOTTIME);
}

uint64_t sf_clock_process_cpu_ns(void)
{
    return (uint64_t)read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t sf_clock_thread_cpu_ns(void)
{
    return (uint64_t)read_ns(CLOCK_THREAD_CPUTIME_ID);
}

void sf_clock_random_fill(void *out, size_t len)
{
    int saved = errno;
    uint8_t *to = out;
    uint64_t stir = (uint64_t)sf_clock_mono_ns() ^ (uint64_t)sf_clock_unix_ns() << 20;
    if (getrandom(out, len, GRND_NONBLOCK) != (ssize_t)len) {
        stir ^= (uint64_t)getpid() << 40 ^ (uint64_t)(uintptr_t)&stir;
        for (size_t i = 0; i < len; i++) {
            stir = stir * 6364136223846793005u + 1442695040888963407u;
            to[i] = (uint8_t)(stir >> 56);
        }
    }
    errno = saved;
}
