#include "collect/lib/own_cost.h"

#include <stdatomic.h>

#include "collect/sys/guest_thread.h"

enum {
    SIGNAL_NS = 1500, /* initial estimate of a signal's delivery and return */
    MOST_NS = 50000   /* longer times are ignored: the thread was preempted */
};

/* A few hundred samples a second: one counter for all threads is enough. */
static atomic_uint_fast64_t samples_ns, symbols_ns, n_signals, signal_ns = SIGNAL_NS;

void sf_own_cost_add(int64_t ns)
{
    ns = ns < 0 ? 0 : ns > MOST_NS ? MOST_NS : ns;
    atomic_fetch_add_explicit(&samples_ns, (uint64_t)ns, memory_order_relaxed);
}

void sf_own_cost_add_signal(int64_t ns)
{
    sf_own_cost_add(ns);
    atomic_fetch_add_explicit(&n_signals, 1, memory_order_relaxed);
}

void sf_own_cost_price_signals(int64_t ns)
{
    if (ns > 0)
        atomic_store(&signal_ns, (uint64_t)ns);
}

void sf_own_cost_add_symbols(uint64_t ns)
{
    atomic_fetch_add_explicit(&symbols_ns, ns, memory_order_relaxed);
}

uint64_t sf_own_cost_symbols_ns(void)
{
    return atomic_load(&symbols_ns);
}

uint64_t sf_own_cost_ns(void)
{
    return atomic_load(&samples_ns) + atomic_load(&n_signals) * atomic_load(&signal_ns) +
           sf_guest_thread_cpu_ns();
}

void sf_own_cost_after_fork(void)
{
    atomic_store(&samples_ns, 0);
    atomic_store(&n_signals, 0);
    atomic_store(&symbols_ns, 0);
}
