/* governor.c - measures the load and the cost of profiling, lets load_rule.c decide, and applies
 * the result to the profilers: the periods of CPU and wall samples, the mean distances of heap
 * samples and of waits, pauses. All of it happens in a turn of the collecting thread; the server's
 * settings wait for it under a lock. */
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
#include "collect/lib/waits.h"
#include "collect/sys/clock.h"
#include "collect/sys/guest_thread.h"
#include "collect/sys/load.h"
#include "collect/sys/lock.h"

struct governor_cost { /* CPU times since the process started */
    int64_t time_ns;   /* monotonic */
    uint64_t process_ns, own_ns, threads_ns;
    uint64_t events_ns[SF_LOAD_EVENTS];
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
    uint64_t used_ns; /* CPU time of the process in the last whole interval */
    uint64_t base_hz; /* sum of CPU and wall rates before they are lowered because of load */
    bool is_capturing;
    double lowered; /* before the capture */
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

static void read_events(uint64_t out[SF_LOAD_EVENTS])
{
    out[SF_LOAD_HEAP] = sf_own_cost_heap_ns();
    out[SF_LOAD_WAITS] = sf_own_cost_waits_ns();
}

static struct governor_cost read_cost(int64_t now_ns)
{
    struct governor_cost c = {.time_ns = now_ns};
    uint64_t symbols_ns = sf_own_cost_symbols_ns();
    c.own_ns = sf_own_cost_ns() - symbols_ns;
    c.threads_ns = sf_guest_thread_cpu_ns() - symbols_ns;
    c.process_ns = sf_clock_process_cpu_ns();
    read_events(c.events_ns);
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
    struct sf_load_seen seen = {.length_ns = (uint64_t)(b->time_ns - a->time_ns),
                                .process_ns = b->process_ns - a->process_ns,
                                .own_ns = cost_since(a->own_ns, b->own_ns),
                                .threads_ns = cost_since(a->threads_ns, b->threads_ns)};
    for (int event = 0; event < SF_LOAD_EVENTS; event++)
        seen.events_ns[event] = is_paced((enum sf_load_event)event)
                                    ? b->events_ns[event] - a->events_ns[event]
                                    : 0;
    return seen;
}

uint32_t sf_governor_budget(void)
{
    return g.wish.has_budget ? g.wish.budget_per_10000 : g.block.adaptive_budget_per_10000;
}

/* Have samples of events taken as much since the last measurement as they may in an interval? A
 * recording to a file may be of a program that runs for a second: it waits for the usual checks. */
static bool is_burst(const struct sf_profiling *rules)
{
    uint64_t now_ns[SF_LOAD_EVENTS], sum_ns = 0;
    read_events(now_ns);
    for (int event = 0; event < SF_LOAD_EVENTS; event++)
        sum_ns += is_paced((enum sf_load_event)event) ? now_ns[event] - g.last_cost.events_ns[event]
                                                      : 0;
    return g.last_cost.time_ns && !g.is_for_file && sf_load_rule_is_burst(rules, sum_ns, g.used_ns);
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
    rules.adaptive_budget_per_10000 = sf_governor_budget() - sf_governor_budget() / 5;
    if ((due == SF_LOAD_NOT_DUE && !is_burst(&rules)) ||
        (due != SF_LOAD_INTERVAL && g.wish.capture_kinds))
        return;
    if (due == SF_LOAD_INTERVAL)
        sf_load_read(&now);
    cost = read_cost(now_ns);
    seen = compare_cost(&g.last_cost, &cost);
    if (due == SF_LOAD_NOT_DUE) {
        sf_load_rule_step_burst(&g.load, &rules, &seen);
    } else if (due == SF_LOAD_EARLY) {
        sf_load_rule_step_early(&g.load, &rules, &seen);
    } else if (g.last.time_ns) {
        compare_load(&seen, &g.last, &now);
        sf_load_rule_step(&g.load, &rules, &seen);
    }
    if (due == SF_LOAD_INTERVAL) {
        g.used_ns = g.last.time_ns ? now.process_ns - g.last.process_ns : 0;
        g.last = now;
    }
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

/* The budget has lowered the rate for samples that are taken all the time; a capture begins at the
 * rate that was requested for it, and its cost is seen at the end of the interval. Afterwards the
 * lowered rate applies again. */
static void governor_note_capture(void)
{
    bool is_capturing = g.wish.capture_kinds;
    if (is_capturing && !g.is_capturing) {
        g.lowered = g.load.lowered;
        if (!g.block.is_adaptive) /* then the load may have lowered it */
            g.load.lowered = 0;
    } else if (!is_capturing && g.is_capturing) {
        g.load.lowered = g.lowered;
    }
    g.is_capturing = is_capturing;
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
    double share = sf_load_rule_event_share(&g.load, SF_LOAD_HEAP);
    if (is_paced(SF_LOAD_HEAP))
        periods[SF_SAMPLES_ALLOC] = periods[SF_SAMPLES_INUSE] =
            (uint64_t)((double)g.block.memory_rate / share + 0.5);
}

/* No window ends: each sample has its weight, and no profile of waits tells a mean. */
static void pace_waits(void)
{
    double share = sf_load_rule_event_share(&g.load, SF_LOAD_WAITS);
    if (is_paced(SF_LOAD_WAITS))
        sf_waits_pace((uint64_t)(SF_WAIT_MEAN_NS / share + 0.5));
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
    governor_note_capture();
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
    pace_waits(); /* after a pause profiles begin with the usual mean */
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
    g.used_ns = 0;
    g.is_capturing = false;
}

uint64_t sf_governor_rate(void)
{
    uint64_t period = sf_profiler_period(SF_SAMPLES_CPU);
    if (!period || !sf_profiler_is_on(SF_SAMPLES_CPU))
        return 0;
    return ((uint64_t)SF_NS_PER_S + period / 2) / period;
}
