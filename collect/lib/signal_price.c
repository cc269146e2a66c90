#include "collect/lib/signal_price.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/sys/clock.h"
#include "collect/sys/perf_clock.h"

enum {
    SIGNALS = 15,
    PERIOD_NS = 200000,
    MOST_CPU_NS = 10000000, /* for all of it */
    MOST_NS = 200000,       /* longer gaps are ignored: the thread was preempted */
    /* This loop runs from the caches, a real program does not: where 24 us are measured here and 4
     * in the handler, a sample costs a program 41. So half of the measured time is added. */
    WARM_PARTS = 2
};

struct gaps {
    int64_t ns[SIGNALS];
    unsigned n;
};

/* In order. */
static void signal_price_add(struct gaps *g, int64_t ns)
{
    unsigned at = g->n++;
    for (; at && g->ns[at - 1] > ns; at--)
        g->ns[at] = g->ns[at - 1];
    g->ns[at] = ns;
}

static void signal_price_watch(struct gaps *g, const volatile uint64_t *seen)
{
    uint64_t end_ns = sf_clock_thread_cpu_ns() + MOST_CPU_NS, last = *seen;
    int64_t before_ns = sf_clock_mono_ns();
    for (unsigned i = 0; g->n < SIGNALS; i++) {
        int64_t now_ns = sf_clock_mono_ns();
        if (*seen != last) { /* the signal came before or after the clock was read: read it again,
                              * so that the gap contains it */
            now_ns = sf_clock_mono_ns();
            signal_price_add(g, now_ns - before_ns);
            last = *seen;
        }
        before_ns = now_ns;
        if (i % 1024 == 1023 && sf_clock_thread_cpu_ns() > end_ns)
            return;
    }
}

/* A CPU timer is checked in ticks that occur anyway, so its cost is only that of the signal. */
static void signal_price_send(struct gaps *g, int sig, long tid)
{
    long pid = syscall(SYS_getpid);
    while (g->n < SIGNALS) {
        int64_t begin_ns = sf_clock_mono_ns();
        if (syscall(SYS_tgkill, pid, tid, (long)sig))
            return;
        signal_price_add(g, sf_clock_mono_ns() - begin_ns);
    }
}

int64_t sf_signal_price(const struct sf_signal_ask *ask)
{
    struct gaps g = {.n = 0};
    int saved = errno;
    long tid = syscall(SYS_gettid);
    sigset_t open, before;
    void *clock = NULL;
    sigemptyset(&open);
    sigaddset(&open, ask->sig);
    if (pthread_sigmask(SIG_UNBLOCK, &open, &before))
        return 0;
    if (ask->has_perf)
        clock = sf_perf_clock_start((uint32_t)tid, PERIOD_NS, ask->sig);
    if (clock) {
        signal_price_watch(&g, ask->seen);
        sf_perf_clock_stop(clock);
    } else if (!ask->has_perf) {
        signal_price_send(&g, ask->sig, tid);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    if (g.n <= SIGNALS / 2)
        return 0;
    g.ns[0] = g.ns[g.n / 2] + g.ns[g.n / 2] / WARM_PARTS;
    return g.ns[0] < MOST_NS ? g.ns[0] : MOST_NS;
}
