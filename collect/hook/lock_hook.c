/* Wrappers of libc's pthread mutexes and read-write locks.
 *
 * A free lock costs almost nothing: its first word (the layout of the public headers) is 0. If the
 * lock is held, the wrapper calls trylock, and only when that fails it measures the wait. Reading
 * the word too early only misses one wait. Any result of trylock other than EBUSY is returned,
 * because lock would have returned the same: a dead owner, too many readers. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "collect/hook/next.h"
#include "collect/lib/profiler.h"
#include "collect/lib/waits.h"
#include "collect/sys/clock.h"

typedef int mutex_call(pthread_mutex_t *);
typedef int mutex_timed_call(pthread_mutex_t *, const struct timespec *);
typedef int mutex_clock_call(pthread_mutex_t *, clockid_t, const struct timespec *);
typedef int rwlock_call(pthread_rwlock_t *);
typedef int rwlock_timed_call(pthread_rwlock_t *, const struct timespec *);
typedef int rwlock_clock_call(pthread_rwlock_t *, clockid_t, const struct timespec *);

static mutex_call first_lock;
static rwlock_call first_rdlock, first_wrlock;

static struct {
    mutex_call *lock, *trylock;
    mutex_timed_call *timedlock;
    mutex_clock_call *clocklock;
    rwlock_call *rdlock, *tryrdlock, *wrlock, *trywrlock;
    rwlock_timed_call *timedrdlock, *timedwrlock;
    rwlock_clock_call *clockrdlock, *clockwrlock;
} next = {.lock = first_lock, .rdlock = first_rdlock, .wrlock = first_wrlock};

__attribute__((constructor(101))) static void lock_hook_look_up(void)
{
    SF_NEXT(next.trylock, "pthread_mutex_trylock");
    SF_NEXT(next.timedlock, "pthread_mutex_timedlock");
    SF_NEXT(next.clocklock, "pthread_mutex_clocklock");
    SF_NEXT(next.tryrdlock, "pthread_rwlock_tryrdlock");
    SF_NEXT(next.trywrlock, "pthread_rwlock_trywrlock");
    SF_NEXT(next.timedrdlock, "pthread_rwlock_timedrdlock");
    SF_NEXT(next.timedwrlock, "pthread_rwlock_timedwrlock");
    SF_NEXT(next.clockrdlock, "pthread_rwlock_clockrdlock");
    SF_NEXT(next.clockwrlock, "pthread_rwlock_clockwrlock");
    SF_NEXT(next.rdlock, "pthread_rwlock_rdlock");
    SF_NEXT(next.wrlock, "pthread_rwlock_wrlock");
    SF_NEXT(next.lock, "pthread_mutex_lock");
}

static int first_lock(pthread_mutex_t *m)
{
    lock_hook_look_up();
    if (next.lock == first_lock)
        sf_next_is_missing("pthread_mutex_lock");
    return next.lock(m);
}

static int first_rdlock(pthread_rwlock_t *l)
{
    lock_hook_look_up();
    if (next.rdlock == first_rdlock)
        sf_next_is_missing("pthread_rwlock_rdlock");
    return next.rdlock(l);
}

static int first_wrlock(pthread_rwlock_t *l)
{
    lock_hook_look_up();
    if (next.wrlock == first_wrlock)
        sf_next_is_missing("pthread_rwlock_wrlock");
    return next.wrlock(l);
}

/* Whether waits are profiled and the lock is held now. In this order, because reading a word that
 * an unlock has just written stalls for about 3 ns. Reading a mutex's owner would be cheaper, but
 * the owner is cleared before the unlock and set after the lock: a third of the waits of 0.1 us
 * would be missed. */
static inline bool lock_hook_is_taken(const void *lock)
{
    return sf_profiler_is_on(SF_SAMPLES_MUTEX) &&
           SF_RARELY(__atomic_load_n((const int *)lock, __ATOMIC_RELAXED) != 0);
}

/* A lock of either kind, and how to try and wait for it. */
struct lock {
    int (*try_it)(const struct lock *);
    int (*wait_for_it)(const struct lock *);
    void *lock;
    clockid_t clock;
    const struct timespec *until;
};

/* Tries the lock, then waits and records how long. Not inline: it keeps the path of a free lock
 * small. */
static __attribute__((noinline)) int lock_hook_wait_for(struct lock l, const void *caller)
{
    int result = l.try_it(&l);
    int64_t begin_ns;
    if (result != EBUSY)
        return result;
    begin_ns = sf_clock_mono_ns();
    result = l.wait_for_it(&l);
    sf_waits_add(SF_SAMPLES_MUTEX, SF_WAIT_LOCK, (uint64_t)(sf_clock_mono_ns() - begin_ns), caller);
    return result;
}

#define WAIT_FOR(...) \
    SF_STAY(lock_hook_wait_for((struct lock){__VA_ARGS__}, __builtin_return_address(0)))

static int try_mutex(const struct lock *l)
{
    return next.trylock(l->lock);
}
static int take_mutex(const struct lock *l)
{
    return next.lock(l->lock);
}
static int take_mutex_until(const struct lock *l)
{
    return next.timedlock(l->lock, l->until);
}
static int take_mutex_by_clock(const struct lock *l)
{
    return next.clocklock(l->lock, l->clock, l->until);
}
static int try_read(const struct lock *l)
{
    return next.tryrdlock(l->lock);
}
static int take_read(const struct lock *l)
{
    return next.rdlock(l->lock);
}
static int take_read_until(const struct lock *l)
{
    return next.timedrdlock(l->lock, l->until);
}
static int take_read_by_clock(const struct lock *l)
{
    return next.clockrdlock(l->lock, l->clock, l->until);
}
static int try_write(const struct lock *l)
{
    return next.trywrlock(l->lock);
}
static int take_write(const struct lock *l)
{
    return next.wrlock(l->lock);
}
static int take_write_until(const struct lock *l)
{
    return next.timedwrlock(l->lock, l->until);
}
static int take_write_by_clock(const struct lock *l)
{
    return next.clockwrlock(l->lock, l->clock, l->until);
}

SF_HOOK int pthread_mutex_lock(pthread_mutex_t *m)
{
    if (lock_hook_is_taken(m))
        return WAIT_FOR(try_mutex, take_mutex, m, 0, NULL);
    return next.lock(m);
}

SF_HOOK int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
    if (lock_hook_is_taken(m))
        return WAIT_FOR(try_mutex, take_mutex_until, m, 0, until);
    return next.timedlock(m, until);
}

SF_HOOK int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
                                    const struct timespec *until)
{
    if (lock_hook_is_taken(m))
        return WAIT_FOR(try_mutex, take_mutex_by_clock, m, clock, until);
    return next.clocklock(m, clock, until);
}

SF_HOOK int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
    if (lock_hook_is_taken(l))
        return WAIT_FOR(try_read, take_read, l, 0, NULL);
    return next.rdlock(l);
}

SF_HOOK int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
    if (lock_hook_is_taken(l))
        return WAIT_FOR(try_write, take_write, l, 0, NULL);
    return next.wrlock(l);
}

SF_HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
    if (lock_hook_is_taken(l))
        return WAIT_FOR(try_read, take_read_until, l, 0, until);
    return next.timedrdlock(l, until);
}

SF_HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
    if (lock_hook_is_taken(l))
        return WAIT_FOR(try_write, take_write_until, l, 0, until);
    return next.timedwrlock(l, until);
}

SF_HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
                                       const struct timespec *until)
{
    if (lock_hook_is_taken(l))
        return WAIT_FOR(try_read, take_read_by_clock, l, clock, until);
    return next.clockrdlock(l, clock, until);
}

SF_HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
                                       const struct timespec *until)
{
    if (lock_hook_is_taken(l))
        return WAIT_FOR(try_write, take_write_by_clock, l, clock, until);
    return next.clockwrlock(l, clock, until);
}

SF_OWN(pthread_mutex_lock);

static enum sf_err lock_hook_begin(uint64_t period, struct sf_why *why)
{
    (void)period;
    (void)why;
    sf_waits_begin(SF_SAMPLES_MUTEX);
    return SF_OK; /* the hooks check whether the kind is on */
}

static void lock_hook_end(void)
{
}

__attribute__((constructor(102))) static void lock_hook_offer(void)
{
    static const struct sf_profiler_source source = {.begin = lock_hook_begin,
                                                     .end = lock_hook_end};
    if (SF_IS_CALLED(pthread_mutex_lock))
        sf_profiler_set_source(SF_SAMPLES_MUTEX, &source);
}
