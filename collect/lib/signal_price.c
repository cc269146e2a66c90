#include "collect/lib/signal_price.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/sys/clock.h"
#include "collect/sys/perf_clock.h"

enum {
    PERIOD_NS = 100000,
    MOST_CPU_NS = 1000000, /* to wait for the signal */
    MOST_NS = 200000,      /* longer gaps are ignored: the thread was preempted */
    /* A quarter is added for cache misses of the program after the signal: with an eighth a sample
     * was counted as 54 us, where own_cost_truth measures 57 and 61 (standard error 3). */
    AFTER_PARTS = 4
};

/* 0: no signal came. */
static int64_t signal_price_watch(const volatile uint64_t *seen)
{
    uint64_t end_ns = sf_clock_thread_cpu_ns() + MOST_CPU_NS, last = *seen;
    int64_t before_ns = sf_clock_mono_ns();
    for (unsigned i = 1;; i++) {
        int64_t now_ns = sf_clock_mono_ns();
        if (*seen != last) /* it came before or after the clock was read: read it again */
            return sf_clock_mono_ns() - before_ns;
        before_ns = now_ns;
        if (i % 1024 == 0 && sf_clock_thread_cpu_ns() > end_ns)
            return 0;
    }
}

/* A CPU timer is checked in ticks that occur anyway, so its cost is only that of the signal. */
static int64_t signal_price_send(int sig, long tid)
{
    long pid = syscall(SYS_getpid);
    int64_t begin_ns = sf_clock_mono_ns();
    return syscall(SYS_tgkill, pid, tid, (long)sig) ? 0 : sf_clock_mono_ns() - begin_ns;
}

int64_t sf_signal_price_probe(const struct sf_signal_ask *ask)
{
    int saved = errno;
    long tid = syscall(SYS_gettid);
    sigset_t open, before;
    void *clock = NULL;
    int64_t ns = 0;
    sigemptyset(&open);
    sigaddset(&open, ask->sig);
    if (pthread_sigmask(SIG_UNBLOCK, &open, &before))
        return 0;
    if (ask->has_perf)
        clock = sf_perf_clock_start((uint32_t)tid, PERIOD_NS, ask->sig);
    if (clock) {
        ns = signal_price_watch(ask->seen);
        sf_perf_clock_stop(clock);
    } else if (!ask->has_perf) {
        ns = signal_price_send(ask->sig, tid);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return ns;
}

void sf_signal_price_note(struct sf_signal_price *p, int64_t ns)
{
    if (ns > 0 && ns < MOST_NS)
        p->ns[p->n++ % SF_SIGNAL_PRICES] = ns;
}

int64_t sf_signal_price_mean(const struct sf_signal_price *p)
{
    unsigned n = p->n < SF_SIGNAL_PRICES ? p->n : SF_SIGNAL_PRICES;
    int64_t sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += p->ns[i];
    return n ? (sum + sum / AFTER_PARTS) / n : 0;
}
