#include "collect/sys/lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/time_unit.h"

static void futex_wait(atomic_uint *word, unsigned expected, const struct timespec *timeout)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout, NULL, 0);
}

static void futex_wake(atomic_uint *word, int n)
{
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
    errno = saved;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}

/* 0 free, 1 held, 2 held and there may be waiters. A thread that has waited sets 2, because others
 * may still wait. */
void sf_lock_wait(struct sf_lock *l)
{
    int saved = errno;
    for (int i = 0; i < 64; i++) { /* critical sections are shorter than going to sleep */
        if (sf_lock_try(l))
            return;
        relax();
    }
    while (atomic_exchange_explicit(&l->word, 2, memory_order_acquire) != 0)
        futex_wait(&l->word, 2, NULL);
    errno = saved;
}

void sf_lock_wake(struct sf_lock *l)
{
    futex_wake(&l->word, 1);
}

void sf_notifier_notify(struct sf_notifier *b)
{
    atomic_fetch_add_explicit(&b->rings, 1, memory_order_release);
    futex_wake(&b->rings, INT_MAX);
}

void sf_notifier_wait(struct sf_notifier *b, unsigned heard, int64_t timeout_ns)
{
    struct timespec t = {timeout_ns / SF_NS_PER_S, timeout_ns % SF_NS_PER_S};
    int saved = errno;
    if (timeout_ns > 0)
        futex_wait(&b->rings, heard, &t); /* returns at once when it was notified meanwhile */
    errno = saved;
}
