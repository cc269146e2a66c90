/* governor.c - measures the load and the cost of profiling, lets budget_guard.c and load_rule.c
 * decide, and applies the result to the profilers: the periods of CPU and wall samples, the mean
 * distances of heap samples and of waits, pauses. All of it happens in a turn of the collecting
 * thread; the server's settings wait for it under a lock. */
#include "collect/lib/governor.h"

#include <stdatomic.h>

#include "base/time_unit.h"
#include "collect/lib/budget_guard.h"
#include "collect/lib/cpu_profiler.h"
#include "collect/lib/heap_profiler.h"
#include "collect/lib/own_cost.h"
#include "collect/lib/profiler.h"
#include "collect/lib/selection.h"
#include "collect/lib/turn_pace.h"
#include "collect/lib/waits.h"
#include "collect/sys/clock.h"
#include "collect/sys/guest_thread.h"
#include "collect/sys/load.h"
#include "collect/sys/lock.h"

static struct {
    struct sf_profiling block;
    bool is_for_file;
    struct sf_lock lock; /* guards settings stored for the collecting thread */
    struct sf_governor_wish left;
    uint64_t n_left; /* requests so far */
    atomic_uint_fast64_t n_applied;
    struct sf_notifier applied;
    atomic_uint paced; /* bits of events whose rate follows the budget */
    atomic_bool is_heap_braked;
    /* The fields below are used by the collecting thread only. */
    struct sf_governor_wish wish;
    struct sf_budget_guard guard;
    struct sf_load_reading last; /* at the beginning of the interval; time_ns 0: none yet */
} g;

enum { MAX_SLOW = 256 }; /* threads whose requests are sampled more often at a time */

static uint32_t governor_share_of(double part, double whole)
{
    double share = whole > 0 ? part / whole * 10000 : 0;
    return share < 0 ? 0 : share > 10000 ? 10000 : (uint32_t)(share + 0.5);
}

/* The load between two readings. */
static void compare_load(struct sf_load_seen *seen, const struct sf_load_reading *a,
                         const struct sf_load_reading *b)
{
    double length_ns = (double)(b->time_ns - a->time_ns);
    seen->memory_len = b->memory_len;
    if (a->has_host && b->has_host)
        seen->host = governor_share_of((double)b->host_busy - (double)a->host_busy,
                                       (double)b->host_all - (double)a->host_all);
    if (a->has_stalled && b->has_stalled)
        seen->pressure = governor_share_of((double)(b->stalled_us - a->stalled_us) * SF_NS_PER_US,
                                           length_ns);
    seen->process = governor_share_of((double)(b->process_ns - a->process_ns),
                                      length_ns * b->n_cpus);
}

/* Samples that only the program itself requested, for a file, keep their mean. So do waits in a
 * recording to a file, which was made to see them. */
static bool is_paced(enum sf_load_event event)
{
    unsigned sent = sf_profiler_on_for(SF_FOR_SERVER);
    return event == SF_LOAD_HEAP ? g.is_for_file || sent & SF_HEAP_KINDS : sent & SF_WAIT_KINDS;
}

/* With a time of its own: a turn may already have read a later one than that it began at. */
static struct sf_cost_reading read_cost(void)
{
    struct sf_cost_reading r = {.time_ns = sf_clock_mono_ns(),
                                .symbols_ns = sf_own_cost_symbols_ns(),
                                .asked_ns = sf_own_cost_asked_ns(),
                                .own_ns = sf_own_cost_ns(),
                                .process_ns = sf_clock_process_cpu_ns()};
    r.threads_ns = sf_guest_thread_cpu_ns() - r.symbols_ns;
    r.signals_ns = sf_own_cost_signals_ns(&r.n_signals);
    r.events_ns[SF_LOAD_HEAP] = sf_own_cost_heap_ns();
    r.events_ns[SF_LOAD_WAITS] = sf_own_cost_waits_ns();
    return r;
}

/* A recording to a file may be of a program that runs for a second: bursts of events wait there for
 * the usual checks. */
static struct sf_budget_terms current_terms(void)
{
    struct sf_budget_terms terms = {.rules = &g.block,
                                    .budget_per_10000 = sf_governor_budget(),
                                    .is_capturing = g.wish.capture_kinds,
                                    .has_bursts = !g.is_for_file};
    for (int event = 0; event < SF_LOAD_EVENTS; event++)
        terms.paced |= is_paced((enum sf_load_event)event) ? 1u << event : 0;
    return terms;
}

uint32_t sf_governor_budget(void)
{
    return g.wish.has_budget ? g.wish.budget_per_10000 : g.block.adaptive_budget_per_10000;
}

int64_t sf_governor_symbol_credit(void)
{
    struct sf_budget_terms terms = current_terms();
    struct sf_cost_reading now = read_cost();
    terms.is_capturing = g.guard.is_capturing; /* until the next turn */
    sf_budget_guard_note(&g.guard, &terms, &now);
    return sf_budget_guard_credit(&g.guard);
}

static void governor_measure(const struct sf_budget_terms *terms)
{
    enum sf_load_due due = sf_budget_guard_due(&g.guard, terms);
    struct sf_load_seen seen = {0};
    struct sf_load_reading now = {0};
    bool has_load = false;
    if (due == SF_LOAD_NOT_DUE)
        return;
    if (due == SF_LOAD_INTERVAL) {
        sf_load_read(&now);
        has_load = g.last.time_ns;
        if (has_load) {
            compare_load(&seen, &g.last, &now);
            seen.process_ns = now.process_ns - g.last.process_ns;
        }
        g.last = now;
    }
    sf_budget_guard_step(&g.guard, terms, due, has_load ? &seen : NULL);
}

/* The server's current settings; an expired rate is ignored. */
static void take_wish(int64_t now_ns, uint64_t *number)
{
    if (sf_lock_try(&g.lock)) {
        g.wish = g.left;
        *number = g.n_left;
        sf_lock_give(&g.lock);
    }
    if (g.wish.rates_until_ns && now_ns >= g.wish.rates_until_ns)
        g.wish.cpu_hz = g.wish.wall_hz = 0;
}

static uint64_t governor_rate_of(uint64_t configured, uint64_t wanted, unsigned kind)
{
    uint64_t hz = wanted ? wanted : configured;
    if (g.wish.capture_kinds >> kind & 1)
        hz = g.wish.capture_hz;
    return hz > g.block.adaptive_max_rate && hz > configured ? g.block.adaptive_max_rate : hz;
}

static uint64_t period_of(uint64_t hz, double share)
{
    return (uint64_t)((double)SF_NS_PER_S / ((double)hz * share) + 0.5);
}

/* A profile that the program writes to a file itself keeps the rate it requested. */
static bool governor_is_ours(void)
{
    return g.is_for_file || sf_profiler_on_for(SF_FOR_SERVER);
}

static void pace_heap(uint64_t periods[SF_SAMPLES_KINDS])
{
    double share = sf_load_rule_event_share(&g.guard.load, SF_LOAD_HEAP);
    if (is_paced(SF_LOAD_HEAP))
        periods[SF_SAMPLES_ALLOC] = periods[SF_SAMPLES_INUSE] =
            (uint64_t)((double)g.block.memory_rate / share + 0.5);
}

/* No window ends: each sample has its weight, and no profile of waits tells a mean. */
static void pace_waits(void)
{
    double share = sf_load_rule_event_share(&g.guard.load, SF_LOAD_WAITS);
    if (is_paced(SF_LOAD_WAITS))
        sf_waits_pace((uint64_t)(SF_WAIT_MEAN_NS / share + 0.5));
}

/* In a hook: samples of events come so often that the collecting thread did not get to look at
 * them. */
static void brake(bool is_heap)
{
    unsigned paced = atomic_load(&g.paced);
    if (is_heap && paced >> SF_LOAD_HEAP & 1) {
        atomic_store(&g.is_heap_braked, true);
        sf_heap_profiler_brake();
    } else if (!is_heap && paced >> SF_LOAD_WAITS & 1) {
        sf_waits_brake();
    }
}

/* From here on the rates are those that were decided; pace_waits() has set that of waits. */
static void release_brake(void)
{
    if (atomic_exchange(&g.is_heap_braked, false))
        sf_heap_profiler_release();
    sf_own_cost_watch(&(struct sf_own_cost_watch){SF_BUDGET_GLANCE_NS, sf_profiler_wake, brake});
}

/* Slow requests must be noticed soon, and the load is measured once per interval. Changed settings
 * of the server need a turn, too. */
static int64_t governor_spread_of(void)
{
    if (sf_selection_escalates() || g.wish.capture_kinds)
        return 0;
    return g.block.adaptive_interval_ns < SF_TURN_MOST_NS ? g.block.adaptive_interval_ns
                                                          : SF_TURN_MOST_NS;
}

static enum sf_pause why_paused(void)
{
    return g.guard.load.is_paused                   ? SF_PAUSE_LOAD
           : g.wish.is_off && !g.wish.capture_kinds ? SF_PAUSE_CONTROL
           : g.guard.load.is_in_debt                ? SF_PAUSE_BUDGET
                                                    : SF_PAUSE_NONE;
}

static void govern(int64_t now_ns)
{
    uint64_t periods[SF_SAMPLES_KINDS] = {0}, number = atomic_load(&g.n_applied), cpu_hz, wall_hz;
    uint32_t slow[MAX_SLOW], n_slow;
    struct sf_cost_reading cost = read_cost();
    struct sf_budget_terms terms;
    double share;
    if (!governor_is_ours()) {
        sf_budget_guard_skip(&g.guard, &cost);
        return;
    }
    take_wish(now_ns, &number);
    terms = current_terms();
    atomic_store(&g.paced, terms.paced);
    cpu_hz = governor_rate_of(g.block.cpu_rate, g.wish.cpu_hz, SF_SAMPLES_CPU);
    wall_hz = governor_rate_of(g.block.wall_rate, g.wish.wall_hz, SF_SAMPLES_WALL);
    n_slow = sf_selection_escalates() ? sf_selection_slow(slow, MAX_SLOW) : 0;
    sf_budget_guard_note(&g.guard, &terms, &cost);
    sf_budget_guard_rates(&g.guard, &terms, cpu_hz, wall_hz, g.block.cpu_rate + g.block.wall_rate);
    governor_measure(&terms);
    share = sf_load_rule_share(&g.guard.load);
    sf_profiler_spread(governor_spread_of());
    periods[SF_SAMPLES_CPU] = period_of(cpu_hz, share);
    periods[SF_SAMPLES_WALL] = period_of(wall_hz, share);
    pace_heap(periods);
    sf_profiler_pace(periods);
    if (sf_selection_escalates() && cpu_hz < g.block.adaptive_max_rate)
        sf_cpu_profiler_hasten(slow, n_slow, period_of(g.block.adaptive_max_rate, share));
    sf_profiler_pause(why_paused());
    pace_waits(); /* after a pause profiles begin with the usual mean */
    release_brake();
    if (number != atomic_load(&g.n_applied)) {
        atomic_store(&g.n_applied, number);
        sf_notifier_notify(&g.applied);
    }
}

void sf_governor_init(const struct sf_profiling *block, bool is_for_file)
{
    g.block = *block;
    g.is_for_file = is_for_file;
    sf_profiler_govern(govern);
}

bool sf_governor_is_settled(void)
{
    uint64_t mine;
    sf_lock_take(&g.lock);
    mine = g.n_left;
    sf_lock_give(&g.lock);
    return atomic_load(&g.n_applied) >= mine || !governor_is_ours();
}

void sf_governor_wish_set(const struct sf_governor_wish *w)
{
    int64_t end_ns = sf_clock_mono_ns() + SF_NS_PER_S;
    uint64_t mine;
    sf_lock_take(&g.lock);
    g.left = *w;
    mine = ++g.n_left;
    sf_lock_give(&g.lock);
    sf_profiler_call();
    for (;;) {
        unsigned heard = sf_notifier_seen(&g.applied);
        int64_t left_ns = end_ns - sf_clock_mono_ns();
        if (atomic_load(&g.n_applied) >= mine || left_ns <= 0)
            return;
        sf_notifier_wait(&g.applied, heard, left_ns);
    }
}

void sf_governor_after_fork(void)
{
    sf_lock_reset(&g.lock);
    g.left = g.wish = (struct sf_governor_wish){0};
    g.guard = (struct sf_budget_guard){0};
    g.last = (struct sf_load_reading){0};
}

uint64_t sf_governor_rate(void)
{
    uint64_t period = sf_profiler_period(SF_SAMPLES_CPU);
    if (!period || !sf_profiler_is_on(SF_SAMPLES_CPU))
        return 0;
    return ((uint64_t)SF_NS_PER_S + period / 2) / period;
}
