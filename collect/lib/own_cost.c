#include "collect/lib/own_cost.h"

#include <stdatomic.h>

#include "collect/sys/guest_thread.h"

enum {
    SIGNAL_NS = 45000, /* initial estimate of a signal's delivery and return: rather too much */
    MOST_NS = 50000,   /* longer times are cut: the thread was preempted */
    /* A sample 10 ms after the last one finds neither code nor tables in the caches, and more than
     * half of the misses occur outside of the two readings of the clock: where a hook measures 8.7
     * us, a heap sample costs the program 22, and 28 to 37 on a busy host (own_cost_truth). So the
     * measured time is multiplied by 7 / 2. */
    COLD_PARTS = 7,
    WARM_PARTS = 2,
    /* Cost of perf's clocks per context switch, out and in, measured in a virtual machine. */
    FIRST_CLOCK_NS = 1000,
    NEXT_CLOCK_NS = 500
};

/* A few hundred samples a second: one counter for all threads is enough. */
static atomic_uint_fast64_t samples_ns, heap_ns, waits_ns, symbols_ns, asked_ns;
static atomic_uint_fast64_t signal_ns = SIGNAL_NS, signals_ns, n_signals;
static atomic_uint_fast64_t alarm_ns = UINT64_MAX, brake_ns = UINT64_MAX, brake_step_ns;
static void (*_Atomic on_alarm)(void);
static void (*_Atomic on_brake)(bool is_heap);

static void own_cost_add(uint64_t ns)
{
    uint64_t all_ns = atomic_fetch_add_explicit(&samples_ns, ns, memory_order_relaxed) + ns;
    void (*alarm)(void);
    if (all_ns < atomic_load_explicit(&alarm_ns, memory_order_relaxed) ||
        atomic_exchange(&alarm_ns, UINT64_MAX) == UINT64_MAX)
        return;
    alarm = atomic_load(&on_alarm);
    if (alarm)
        alarm();
}

static uint64_t events_ns(void)
{
    return atomic_load_explicit(&heap_ns, memory_order_relaxed) +
           atomic_load_explicit(&waits_ns, memory_order_relaxed);
}

/* One of the threads that come here at the same time brakes. */
static void brake_events(bool is_heap)
{
    uint64_t limit_ns = atomic_load_explicit(&brake_ns, memory_order_relaxed), now_ns = events_ns();
    void (*brake)(bool) = atomic_load(&on_brake);
    if (now_ns >= limit_ns && brake &&
        atomic_compare_exchange_strong(&brake_ns, &limit_ns, now_ns + atomic_load(&brake_step_ns)))
        brake(is_heap);
}

void sf_own_cost_watch(const struct sf_own_cost_watch *w)
{
    atomic_store(&on_alarm, w->alarm);
    atomic_store(&on_brake, w->brake);
    atomic_store(&brake_step_ns, w->ns / 2);
    atomic_store(&alarm_ns, atomic_load(&samples_ns) + w->ns);
    atomic_store(&brake_ns, events_ns() + 2 * w->ns);
}

static uint64_t clip(int64_t ns)
{
    return ns < 0 ? 0 : ns > MOST_NS ? MOST_NS : (uint64_t)ns;
}

static uint64_t own_cost_cold(int64_t ns)
{
    return clip(ns) * COLD_PARTS / WARM_PARTS;
}

static void own_cost_add_event(atomic_uint_fast64_t *sum_ns, int64_t ns)
{
    uint64_t cold_ns = own_cost_cold(ns);
    atomic_fetch_add_explicit(sum_ns, cold_ns, memory_order_relaxed);
    own_cost_add(cold_ns);
    brake_events(sum_ns == &heap_ns);
}

void sf_own_cost_add_heap(int64_t ns)
{
    own_cost_add_event(&heap_ns, ns);
}

void sf_own_cost_add_wait(int64_t ns)
{
    own_cost_add_event(&waits_ns, ns);
}

/* Counted with the current price: a later change of the price does not change the sum so far. */
void sf_own_cost_add_signal(int64_t ns)
{
    uint64_t kernel_ns = atomic_load_explicit(&signal_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&signals_ns, clip(ns) + kernel_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&n_signals, 1, memory_order_relaxed);
    own_cost_add(clip(ns) + kernel_ns);
}

uint64_t sf_own_cost_signals_ns(uint64_t *n)
{
    *n = atomic_load(&n_signals);
    return atomic_load(&signals_ns);
}

void sf_own_cost_add_switches(uint64_t n, unsigned n_clocks)
{
    uint64_t each_ns = n_clocks ? FIRST_CLOCK_NS + (n_clocks - 1) * NEXT_CLOCK_NS : 0;
    own_cost_add(n * each_ns);
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

void sf_own_cost_add_asked(uint64_t ns)
{
    atomic_fetch_add_explicit(&asked_ns, ns, memory_order_relaxed);
}

uint64_t sf_own_cost_asked_ns(void)
{
    return atomic_load(&asked_ns);
}

uint64_t sf_own_cost_symbols_ns(void)
{
    return atomic_load(&symbols_ns);
}

uint64_t sf_own_cost_heap_ns(void)
{
    return atomic_load(&heap_ns);
}

uint64_t sf_own_cost_waits_ns(void)
{
    return atomic_load(&waits_ns);
}

uint64_t sf_own_cost_ns(void)
{
    return atomic_load(&samples_ns) + sf_guest_thread_cpu_ns();
}

uint32_t sf_own_cost_share(struct sf_own_cost_window *w, const struct sf_own_cost_reading *now)
{
    uint64_t own_ns, process_ns, part;
    if (now->time_ns - w->next.time_ns >= SF_OWN_COST_WINDOW_NS) {
        w->from = w->next;
        w->next = *now;
    }
    if (now->process_ns <= w->from.process_ns || now->own_ns <= w->from.own_ns)
        return 0;
    own_ns = now->own_ns - w->from.own_ns;
    process_ns = now->process_ns - w->from.process_ns;
    part = own_ns < process_ns ? own_ns * 1000000 / process_ns : 1000000;
    return (uint32_t)part;
}

void sf_own_cost_after_fork(void)
{
    atomic_store(&samples_ns, 0);
    atomic_store(&heap_ns, 0);
    atomic_store(&waits_ns, 0);
    atomic_store(&symbols_ns, 0);
    atomic_store(&asked_ns, 0);
    atomic_store(&signals_ns, 0);
    atomic_store(&n_signals, 0);
    atomic_store(&alarm_ns, UINT64_MAX);
    atomic_store(&brake_ns, UINT64_MAX);
}
