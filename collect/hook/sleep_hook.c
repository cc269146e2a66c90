/* Wrappers for sleeping and for waiting for other threads and processes. libc has an old version of
 * pthread_cond_* for very old programs, so the new version is looked up explicitly. */
#include <pthread.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time_unit.h"
#include "collect/hook/block_hook.h"

#define V    "GLIBC_2.2.5"
#define NAP  SF_WAIT_SLEEP, -1
#define COND SF_WAIT_CONDITION, -1
#define LOCK SF_WAIT_LOCK, -1
#define KIN  SF_WAIT_CHILD, -1

#define SF_BLOCKING_IN(...)          SF_BLOCKING(__VA_ARGS__)
#define SF_BLOCKING_AGAIN_IN(...)    SF_BLOCKING_AGAIN(__VA_ARGS__)
#define SF_BLOCKING_REPEATED_IN(...) SF_BLOCKING_REPEATED(__VA_ARGS__)

SF_BLOCKING_AGAIN_IN(int, nanosleep, V, NAP, (const struct timespec *t, struct timespec *left),
                     (t, left))
static int again_nanosleep(const struct timespec *t, struct timespec *left)
{
    struct sf_again again = sf_again_begin(0);
    struct timespec rest = {0};
    int result = next_nanosleep(t, &rest);
    while (SF_RARELY(result) && errno == EINTR && sf_again_wants(&again))
        result = next_nanosleep(&(struct timespec){rest.tv_sec, rest.tv_nsec}, &rest);
    if (SF_RARELY(result) && errno == EINTR && left)
        *left = rest;
    return result;
}

SF_BLOCKING_AGAIN_IN(int, clock_nanosleep, "GLIBC_2.17", NAP,
                     (clockid_t clock, int flags, const struct timespec *t, struct timespec *left),
                     (clock, flags, t, left))
static int again_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
                                 struct timespec *left)
{
    struct sf_again again = sf_again_begin(0);
    struct timespec rest = {0}, until;
    int result = next_clock_nanosleep(clock, flags, t, &rest);
    while (SF_RARELY(result == EINTR) && sf_again_wants(&again)) {
        until = flags & TIMER_ABSTIME ? *t : rest;
        result = next_clock_nanosleep(clock, flags, &until, &rest);
    }
    if (SF_RARELY(result == EINTR) && left && !(flags & TIMER_ABSTIME))
        *left = rest;
    return result;
}

SF_BLOCKING_AGAIN_IN(int, usleep, V, NAP, (useconds_t us), (us))
static int again_usleep(useconds_t us)
{
    struct sf_again again = sf_again_begin((int64_t)us * 1000);
    int result = next_usleep(us);
    while (SF_RARELY(result == -1) && errno == EINTR && sf_again_wants(&again))
        result = next_usleep((useconds_t)((sf_again_left_ns(&again) + 999) / 1000));
    return result;
}

/* The remaining time is in whole seconds: it may be 0 although the sleep was interrupted. */
SF_BLOCKING_AGAIN_IN(unsigned, sleep, V, NAP, (unsigned s), (s))
static unsigned again_sleep(unsigned s)
{
    struct sf_again again = sf_again_begin((int64_t)s * SF_NS_PER_S);
    unsigned left = next_sleep(s);
    while (s && sf_again_wants(&again)) {
        struct timespec rest = sf_again_left(&again);
        left = next_nanosleep(&rest, &rest) ? (unsigned)rest.tv_sec : 0;
    }
    return left;
}

SF_BLOCKING_REPEATED_IN(int, pause, V, NAP, (void), ())

SF_OWN(nanosleep);

__attribute__((constructor(102))) static void sleep_hook_offer(void)
{
    if (SF_IS_CALLED(nanosleep))
        sf_block_hook_offer();
}

SF_BLOCKING_IN(int, pthread_cond_wait, "GLIBC_2.3.2", COND,
               (pthread_cond_t *restrict c, pthread_mutex_t *restrict m), (c, m))
SF_BLOCKING_IN(int, pthread_cond_timedwait, "GLIBC_2.3.2", COND,
               (pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
                const struct timespec *restrict until),
               (c, m, until))
SF_BLOCKING_IN(int, pthread_cond_clockwait, "GLIBC_2.34", COND,
               (pthread_cond_t *restrict c, pthread_mutex_t *restrict m, clockid_t clock,
                const struct timespec *restrict until),
               (c, m, clock, until))
SF_BLOCKING_IN(int, pthread_barrier_wait, "GLIBC_2.34", COND, (pthread_barrier_t * b), (b))
SF_BLOCKING_IN(int, sem_wait, "GLIBC_2.34", LOCK, (sem_t * s), (s))
SF_BLOCKING_REPEATED_IN(int, sem_timedwait, "GLIBC_2.34", LOCK,
                        (sem_t *restrict s, const struct timespec *restrict until), (s, until))
SF_BLOCKING_REPEATED_IN(int, sem_clockwait, "GLIBC_2.34", LOCK,
                        (sem_t *restrict s, clockid_t clock, const struct timespec *restrict until),
                        (s, clock, until))
SF_BLOCKING_IN(int, flock, V, LOCK, (int fd, int what), (fd, what))

SF_BLOCKING_IN(int, pthread_join, "GLIBC_2.34", KIN, (pthread_t t, void **out), (t, out))
SF_BLOCKING_IN(pid_t, wait, V, KIN, (int *status), (status))
SF_BLOCKING_IN(pid_t, waitpid, V, KIN, (pid_t pid, int *status, int flags), (pid, status, flags))
SF_BLOCKING_IN(pid_t, wait3, V, KIN, (int *status, int flags, struct rusage *used),
               (status, flags, used))
SF_BLOCKING_IN(pid_t, wait4, V, KIN, (pid_t pid, int *status, int flags, struct rusage *used),
               (pid, status, flags, used))
SF_BLOCKING_IN(int, waitid, V, KIN, (idtype_t type, id_t id, siginfo_t *info, int flags),
               (type, id, info, flags))
