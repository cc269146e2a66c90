#include "collect/lib/governor.h"

#include "base/time_unit.h"
#include "collect/lib/load_rule.h"
#include "collect/lib/own_cost.h"
#include "collect/lib/profiler.h"
#include "collect/sys/load.h"

static struct {
    struct sf_profiling block;
    /* The collecting thread's own. */
    struct sf_load load;
    struct sf_load_reading last; /* time_ns 0: none yet */
    uint64_t last_own_ns;
    int64_t next_ns;
} g;

static uint32_t share_of(double part, double whole)
{
    double share = whole > 0 ? part / whole * 10000 : 0;
    return share < 0 ? 0 : share > 10000 ? 10000 : (uint32_t)(share + 0.5);
}

/* What happened between two readings. */
static struct sf_load_seen compare(const struct sf_load_reading *a, const struct sf_load_reading *b,
                                   uint64_t own_ns)
{
    struct sf_load_seen seen = {.memory_len = b->memory_len,
                                .length_ns = (uint64_t)(b->time_ns - a->time_ns),
                                .process_ns = b->process_ns - a->process_ns,
                                .own_ns = own_ns};
    if (a->has_host && b->has_host)
        seen.host = share_of((double)b->host_busy - (double)a->host_busy,
                             (double)b->host_all - (double)a->host_all);
    if (a->has_stalled && b->has_stalled)
        seen.pressure = share_of((double)(b->stalled_us - a->stalled_us) * SF_NS_PER_US,
                                 (double)seen.length_ns);
    seen.process = share_of((double)seen.process_ns, (double)seen.length_ns * b->n_cpus);
    return seen;
}

static void measure(int64_t now_ns)
{
    struct sf_load_reading now;
    struct sf_load_seen seen;
    uint64_t own_ns = sf_own_cost_ns();
    if (now_ns < g.next_ns || (!g.block.is_adaptive && !g.block.has_shedding))
        return;
    g.next_ns = now_ns + g.block.adaptive_interval_ns;
    sf_load_read(&now);
    if (g.last.time_ns) {
        seen = compare(&g.last, &now, own_ns - g.last_own_ns);
        sf_load_step(&g.load, &g.block, &seen);
    }
    g.last = now;
    g.last_own_ns = own_ns;
}

static uint64_t period_of(uint64_t hz, double share)
{
    return (uint64_t)((double)SF_NS_PER_S / ((double)hz * share) + 0.5);
}

static void govern(int64_t now_ns)
{
    uint64_t periods[SF_SAMPLES_KINDS] = {0};
    double share;
    measure(now_ns);
    share = sf_load_share(&g.load);
    if (g.block.is_adaptive) {
        periods[SF_SAMPLES_CPU] = period_of(g.block.cpu_rate, share);
        periods[SF_SAMPLES_WALL] = period_of(g.block.wall_rate, share);
        sf_profiler_pace(periods);
    }
    sf_profiler_pause(g.load.is_paused ? SF_PAUSE_LOAD : SF_PAUSE_NONE);
}

void sf_governor_init(const struct sf_profiling *block)
{
    g.block = *block;
    sf_profiler_govern(govern);
}

void sf_governor_after_fork(void)
{
    g.load = (struct sf_load){0};
    g.last = (struct sf_load_reading){0};
    g.next_ns = 0;
}

uint64_t sf_governor_rate(void)
{
    uint64_t period = sf_profiler_period(SF_SAMPLES_CPU);
    if (!period || !sf_profiler_is_on(SF_SAMPLES_CPU))
        return 0;
    return ((uint64_t)SF_NS_PER_S + period / 2) / period;
}
