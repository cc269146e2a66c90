#include "collect/lib/governor.h"

#include <stdatomic.h>

#include "base/time_unit.h"
#include "collect/lib/cpu_profiler.h"
#include "collect/lib/heap_profiler.h"
#include "collect/lib/load_rule.h"
#include "collect/lib/own_cost.h"
#include "collect/lib/profiler.h"
#include "collect/lib/selection.h"
#include "collect/lib/turn_pace.h"
#include "collect/sys/clock.h"
#include "collect/sys/guest_thread.h"
#include "collect/sys/load.h"
#include "collect/sys/lock.h"

struct governor_cost { /* CPU times since the process started */
    int64_t time_ns;   /* monotonic */
    uint64_t process_ns, own_ns, heap_ns, threads_ns;
};

static struct {
    struct sf_profiling block;
    bool is_for_file;
    struct sf_lock lock; /* guards settings stored for the collecting thread */
    struct sf_governor_wish left;
    uint64_t n_left; /* requests so far */
    atomic_uint_fast64_t n_applied;
    struct sf_notifier applied;
    /* The fields below are used by the collecting thread only. */
    struct sf_governor_wish wish;
    struct sf_load load;
    struct sf_load_times times;
    struct sf_load_reading last; /* at the beginning of the interval; time_ns 0: none yet */
    struct governor_cost last_cost;
    uint64_t base_hz; /* sum of CPU and wall rates before they are lowered because of load */
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

static struct governor_cost read_cost(int64_t now_ns)
{
    struct governor_cost c = {.time_ns = now_ns, .heap_ns = sf_own_cost_heap_ns()};
    uint64_t symbols_ns = sf_own_cost_symbols_ns();
    c.own_ns = sf_own_cost_ns() - symbols_ns;
    c.threads_ns = sf_guest_thread_cpu_ns() - symbols_ns;
    c.process_ns = sf_clock_process_cpu_ns();
    return c;
}

/* A thread that is ending is briefly counted twice, so a sum can decrease. */
static uint64_t cost_since(uint64_t before_ns, uint64_t now_ns)
{
    return now_ns > before_ns ? now_ns - before_ns : 0;
}

static struct sf_load_seen compare_cost(const struct governor_cost *a,
                                        const struct governor_cost *b)
{
    return (struct sf_load_seen){.length_ns = (uint64_t)(b->time_ns - a->time_ns),
                                 .process_ns = b->process_ns - a->process_ns,
                                 .own_ns = cost_since(a->own_ns, b->own_ns),
                                 .heap_ns = b->heap_ns - a->heap_ns,
                                 .threads_ns = cost_since(a->threads_ns, b->threads_ns)};
}

uint32_t sf_governor_budget(void)
{
    return g.wish.has_budget ? g.wish.budget_per_10000 : g.block.adaptive_budget_per_10000;
}

/* Compares the cost that depends on the rate with four fifths of the budget. Reading symbols does
 * not depend on it and may use what samples leave of the budget, and a tenth of it in any case. The
 * other tenth is a margin: the price of a sample is an estimate. */
static void governor_measure(int64_t now_ns)
{
    enum sf_load_due due = sf_load_rule_due(&g.times, now_ns, g.block.adaptive_interval_ns);
    struct sf_profiling rules = g.block;
    struct sf_load_reading now = {0};
    struct governor_cost cost;
    struct sf_load_seen seen;
    if (due == SF_LOAD_NOT_DUE || (due == SF_LOAD_EARLY && g.wish.capture_kinds))
        return;
    if (due == SF_LOAD_INTERVAL)
        sf_load_read(&now);
    cost = read_cost(now_ns);
    rules.adaptive_budget_per_10000 = sf_governor_budget() - sf_governor_budget() / 5;
    seen = compare_cost(&g.last_cost, &cost);
    if (due == SF_LOAD_EARLY) {
        sf_load_rule_step_early(&g.load, &rules, &seen);
    } else if (g.last.time_ns) {
        compare_load(&seen, &g.last, &now);
        sf_load_rule_step(&g.load, &rules, &seen);
    }
    if (due == SF_LOAD_INTERVAL)
        g.last = now;
    g.last_cost = cost;
}

/* A higher rate has an unknown cost, which is checked early. A capture is short, and somebody waits
 * for its samples: it is checked at the end of the interval only. */
static void governor_rebase(int64_t now_ns, uint64_t base_hz)
{
    sf_load_rule_rebase(&g.load, (double)g.base_hz, (double)base_hz);
    if (g.base_hz && base_hz > g.base_hz && g.last_cost.time_ns && !g.wish.capture_kinds) {
        sf_load_rule_restart(&g.times, now_ns);
        g.last_cost = read_cost(now_ns);
    }
    g.base_hz = base_hz;
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

/* A heap profile that only the program itself requested, for a file, keeps its mean. */
static void pace_heap(uint64_t periods[SF_SAMPLES_KINDS])
{
    double share = sf_load_rule_heap_share(&g.load);
    if (!g.is_for_file && !(sf_profiler_on_for(SF_FOR_SERVER) & SF_HEAP_KINDS))
        return;
    periods[SF_SAMPLES_ALLOC] = periods[SF_SAMPLES_INUSE] =
        (uint64_t)((double)g.block.memory_rate / share + 0.5);
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

/* An eighth of the configured rate, as a part of a raised one; 0: the rate is not raised. */
static double floor_of(uint64_t configured, uint64_t base)
{
    return configured && base > configured ? (double)configured / (double)base / 8 : 0;
}

static void govern(int64_t now_ns)
{
    uint64_t periods[SF_SAMPLES_KINDS] = {0}, number = atomic_load(&g.n_applied), cpu_hz, wall_hz;
    uint32_t slow[MAX_SLOW], n_slow;
    double share;
    bool is_off;
    if (!governor_is_ours())
        return;
    take_wish(now_ns, &number);
    cpu_hz = governor_rate_of(g.block.cpu_rate, g.wish.cpu_hz, SF_SAMPLES_CPU);
    wall_hz = governor_rate_of(g.block.wall_rate, g.wish.wall_hz, SF_SAMPLES_WALL);
    n_slow = sf_selection_escalates() ? sf_selection_slow(slow, MAX_SLOW) : 0;
    governor_rebase(now_ns, cpu_hz + wall_hz);
    g.load.floor = floor_of(g.block.cpu_rate + g.block.wall_rate, g.base_hz);
    governor_measure(now_ns);
    share = sf_load_rule_share(&g.load);
    sf_profiler_spread(governor_spread_of());
    periods[SF_SAMPLES_CPU] = period_of(cpu_hz, share);
    periods[SF_SAMPLES_WALL] = period_of(wall_hz, share);
    pace_heap(periods);
    sf_profiler_pace(periods);
    if (sf_selection_escalates() && cpu_hz < g.block.adaptive_max_rate)
        sf_cpu_profiler_hasten(slow, n_slow, period_of(g.block.adaptive_max_rate, share));
    is_off = g.wish.is_off && !g.wish.capture_kinds;
    sf_profiler_pause(g.load.is_paused ? SF_PAUSE_LOAD : is_off ? SF_PAUSE_CONTROL : SF_PAUSE_NONE);
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
    g.load = (struct sf_load){0};
    g.last = (struct sf_load_reading){0};
    g.times = (struct sf_load_times){0};
    g.last_cost = (struct governor_cost){0};
}

uint64_t sf_governor_rate(void)
{
    uint64_t period = sf_profiler_period(SF_SAMPLES_CPU);
    if (!period || !sf_profiler_is_on(SF_SAMPLES_CPU))
        return 0;
    return ((uint64_t)SF_NS_PER_S + period / 2) / period;
}
