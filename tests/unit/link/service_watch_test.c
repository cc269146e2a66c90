/* Simulated services, minute by minute: weeks of noise in which nothing changes, and regressions
 * that are planted into such noise. What is fed is what the server feeds. */
#include "link/service_watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { DAY = 1440, WEEK = 7 * DAY, KNOWN = 2 * DAY, FUNCTIONS = 40, JOB = 30, NEVER = 1000 };
/* What is published comes from here on; thresholds were set with other seeds. */
enum { FIRST_SEED = 5000000 };
#define TAU 6.283185307179586

static uint64_t seed_now;

static double even(void) /* from 0 to 1, without 0 */
{
    seed_now = seed_now * 6364136223846793005u + 1442695040888963407u;
    return ((double)(seed_now >> 33) + 0.5) / 2147483648.0;
}

static double between(double low, double high)
{
    return low + (high - low) * even();
}

static double spare;
static bool has_spare;

static double normal(void)
{
    double r, a;
    if (has_spare) {
        has_spare = false;
        return spare;
    }
    r = sqrt(-2 * log(even()));
    a = TAU * even();
    spare = r * sin(a);
    has_spare = true;
    return r * cos(a);
}

static double poisson(double mean)
{
    double p = exp(-mean), sum = p, u = even();
    uint32_t n = 0;
    if (mean > 30)
        return fmax(0, round(mean + sqrt(mean) * normal()));
    while (u > sum && n < 1000) {
        p *= mean / ++n;
        sum += p;
    }
    return n;
}

static void begin(uint64_t seed)
{
    seed_now = seed;
    has_spare = false;
}

/* ---- a service ---- */

struct noise {            /* of a number per request */
    double base, keeps;   /* keeps: how much of the noise of a minute lasts into the next */
    double sigma, single; /* of it; and of one request */
    double by_day;        /* how much it follows the time of day */
    double now;
};

struct service {
    double rate, rate_by_day, phase;
    uint32_t n_operations;
    struct noise operations[SF_LIMIT_WATCH_OPERATIONS], costs[SF_WATCH_COSTS], memory;
    double saw, saw_minutes; /* memory between collections */
    double samples_per_cpu, limit_ns, limit_share;
    int32_t batch_at;         /* minute of the day at which half an hour is different; -1: none */
    double batch, batch_late; /* how much; and by how many minutes it is late today */
    uint32_t burst;           /* minutes left of a short trouble */
    double burst_times;
};

static struct noise noise_of(double base, double sigma, double single)
{
    return (struct noise){.base = base,
                          .keeps = between(0, 0.95),
                          .sigma = sigma,
                          .single = single,
                          .by_day = between(0, 0.2)};
}

/* What it uses of its CPU limit at the busiest time. */
static void set_limit(struct service *s)
{
    s->limit_ns = s->rate * (1 + s->rate_by_day) * s->costs[0].base * 1.2 / s->limit_share;
}

static struct service new_service(void)
{
    struct service s = {.rate = exp(between(log(15), log(2000))),
                        .rate_by_day = between(0.1, 0.8),
                        .phase = between(0, TAU),
                        .n_operations = 1 + (uint32_t)(even() * 6),
                        .saw = between(0, 0.25),
                        .saw_minutes = between(3, 40),
                        .batch_at = even() < 0.5 ? (int32_t)(even() * DAY) : -1,
                        .batch = between(1.2, 2)};
    for (uint32_t i = 0; i < s.n_operations; i++)
        s.operations[i] = noise_of(exp(between(log(1e6), log(1e9))), between(0.01, 0.06),
                                   between(0.3, 1.2));
    s.costs[0] = noise_of(exp(between(log(2e5), log(1e8))), between(0.01, 0.05), between(0.2, 0.8));
    s.costs[1] = noise_of(exp(between(log(1e4), log(1e7))), between(0.03, 0.12), between(0.5, 2));
    s.costs[2] = noise_of(exp(between(log(1e3), log(1e7))), between(0.005, 0.03),
                          between(0.1, 0.5));
    s.memory = noise_of(exp(between(log(2e7), log(2e9))), between(0.005, 0.03), 0);
    s.samples_per_cpu = 1e-7; /* 100 a second of CPU time */
    s.limit_share = between(0.3, 0.65);
    set_limit(&s);
    return s;
}

static double draw(struct noise *x, double day, double n)
{
    x->now = x->keeps * x->now + sqrt(1 - x->keeps * x->keeps) * x->sigma * normal();
    return x->base * exp(x->now + x->by_day * day + (n > 0 ? x->single * normal() / sqrt(n) : 0));
}

struct planted { /* how much each is multiplied by */
    double latency, costs[SF_WATCH_COSTS], memory, cpu_share;
    bool no_samples;
};

static const struct planted nothing = {1, {1, 1, 1}, 1, 1, false};

static struct sf_watch_minute live(struct service *s, int64_t minute, const struct planted *p)
{
    struct sf_watch_minute m = {.minute = minute, .memory = NAN, .cpu_share = NAN};
    double day = sin(TAU * (double)(minute % DAY) / DAY + s->phase);
    double n = poisson(s->rate * (1 + s->rate_by_day * day)), trouble = 1;
    double left;
    if ((minute - s->batch_at) % DAY == DAY / 2)
        s->batch_late = 5 * normal();
    left = fmod((double)((minute - s->batch_at) % DAY) - s->batch_late + DAY, DAY);
    if (s->burst == 0 && even() < 2.0 / DAY) { /* twice a day: something was restarted nearby */
        s->burst = 1 + (uint32_t)(even() * 4);
        s->burst_times = between(1.5, 5);
    }
    if (s->burst > 0) {
        s->burst--;
        trouble = s->burst_times;
    }
    if (s->batch_at >= 0 && left < JOB)
        trouble *= s->batch;
    m.n_requests = n;
    for (uint32_t i = 0; i < s->n_operations; i++) {
        double own = n / s->n_operations;
        m.operations[i] = (struct sf_watch_operation){
            own, own > 0 ? draw(&s->operations[i], day, own) * trouble * p->latency : 0};
    }
    for (uint32_t i = 0; i < SF_WATCH_COSTS; i++)
        m.costs[i] = n * draw(&s->costs[i], day, n) * (i == 1 ? trouble : sqrt(trouble)) *
                     p->costs[i];
    m.memory = draw(&s->memory, day, 0) * p->memory *
               (1 + s->saw * fmod((double)minute, s->saw_minutes) / s->saw_minutes);
    m.n_samples = p->no_samples ? 0 : poisson(m.costs[0] * s->samples_per_cpu);
    m.cpu_share = m.costs[0] / s->limit_ns / sqrt(trouble) * p->cpu_share;
    if (p->no_samples)
        m.costs[0] = m.costs[1] = m.costs[2] = m.memory = m.cpu_share = NAN;
    return m;
}

static bool is_up(const struct sf_service_watch *w, enum sf_watch_kind kind)
{
    bool is = false;
    switch (kind) {
    case SF_WATCH_LATENCY:
        for (uint32_t i = 0; i < SF_LIMIT_WATCH_OPERATIONS; i++)
            is |= w->operations[i].drift.is_up;
        return is;
    case SF_WATCH_CPU:
    case SF_WATCH_LOCK:
    case SF_WATCH_ALLOCATION: return w->costs[kind - SF_WATCH_CPU].drift.is_up;
    case SF_WATCH_MEMORY: return w->memory.is_up;
    case SF_WATCH_CPU_LIMIT: return w->is_near_limit;
    case SF_WATCH_STOPPED: return w->is_stopped;
    default: return false;
    }
}

/* ---- a deploy in which no function changes ---- */

static void draw_shares(const double *shares, double n, double *out)
{
    double sum = 0; /* samples of one request are alike: three at a time */
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        out[i] = 3 * poisson(shares[i] * n / 3);
        sum += out[i];
    }
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        out[i] /= fmax(1, sum);
}

static bool is_new(const double *before, double n_before, double n_after, double planted)
{
    double after[FUNCTIONS], seen_before[FUNCTIONS], seen[FUNCTIONS], sum = 0;
    bool is = false;
    for (uint32_t i = 0; i < FUNCTIONS; i++) { /* work is never quite the same */
        after[i] = before[i] * exp(0.2 * normal()) + (i == 0 ? planted : 0);
        sum += after[i];
    }
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        after[i] /= sum;
    draw_shares(before, n_before, seen_before);
    draw_shares(after, n_after, seen);
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        is |= sf_service_watch_is_new(seen_before[i], n_before, seen[i], n_after);
    return is;
}

static void new_shares(double *out)
{
    double sum = 0;
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        sum += out[i] = i == 0 ? 0.001 : exp(1.5 * normal());
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        out[i] /= sum;
}

/* ---- tests ---- */

/* At most one false alert in 100 service-weeks, over all kinds. The first two days teach it what a
 * day is like. */
TEST(service_watch, weeks_of_noise_raise_no_alert)
{
    unsigned n_weeks = test_scaled(10), n_alerts[SF_WATCH_KINDS] = {0}, n = 0;
    for (unsigned week = 0; week < n_weeks; week++) {
        struct sf_service_watch *w = calloc(1, sizeof(*w));
        bool was_up[SF_WATCH_KINDS] = {false};
        assert_non_null(w);
        begin(FIRST_SEED + week);
        struct service s = new_service();
        double shares[FUNCTIONS];
        new_shares(shares);
        for (int64_t minute = 0; minute < KNOWN + WEEK; minute++) {
            struct sf_watch_minute m = live(&s, 29000000 + minute, &nothing);
            sf_service_watch_step(w, &m);
            for (unsigned k = 0; k < SF_WATCH_KINDS; k++) {
                bool is = is_up(w, k);
                n_alerts[k] += is && !was_up[k] && minute >= KNOWN;
                was_up[k] = is;
            }
            if (minute % (DAY / 2) >= 2 && minute % (DAY / 2) < 32) /* deployed twice a day */
                n_alerts[SF_WATCH_NEW_FUNCTION] += is_new(
                    shares, 60 * m.n_samples, (double)(minute % (DAY / 2)) * m.n_samples, 0);
        }
        free(w);
    }
    printf("# %u service-weeks, false alerts:", n_weeks);
    for (unsigned k = 0; k < SF_WATCH_KINDS; k++) {
        printf(" %s %u", sf_service_watch_kind_name(k), n_alerts[k]);
        n += n_alerts[k];
    }
    printf("\n");
    assert_true(n <= n_weeks / 100);
}

/* ---- planted regressions ---- */

/* Of how much, where each name has at least so many requests a minute. */
struct size {
    double least_rate, latency, costs[SF_WATCH_COSTS], memory_minutes; /* in which it doubles */
};

static const struct size sizes[2] = {{30, 2, {2, 4, 1.5}, 8}, {200, 1.6, {1.6, 3, 1.5}, 8}};

struct life { /* a service and what is known of it */
    struct service service;
    struct sf_service_watch watch;
    int64_t minute; /* the next one */
    uint64_t seed;
};

/* Two to three days of it, so that what is planted begins at any time of the day. */
static void live_until_planted(struct life *l, uint64_t seed, const struct size *size)
{
    struct service *s = &l->service;
    int64_t end;
    memset(l, 0, sizeof(*l));
    begin(seed);
    *s = new_service();
    s->rate = fmax(s->rate, size->least_rate * s->n_operations / (1 - s->rate_by_day));
    s->costs[1].base = fmax(s->costs[1].base, 3e5); /* enough to matter */
    s->costs[2].base = fmax(s->costs[2].base, 5e3);
    s->samples_per_cpu = fmax(s->samples_per_cpu, /* ten samples a minute at night */
                              10 / (s->rate * (1 - s->rate_by_day) * s->costs[0].base));
    set_limit(s);
    l->minute = 29000000;
    end = l->minute + KNOWN + (int64_t)(even() * DAY);
    for (; l->minute < end; l->minute++) {
        struct sf_watch_minute m = live(s, l->minute, &nothing);
        sf_service_watch_step(&l->watch, &m);
    }
    l->seed = seed_now;
}

/* From three quarters of an hour before a nightly job to half an hour after it: until it is seen
 * that it is not the job that came early or lasts. */
static bool is_beside_job(const struct life *l)
{
    int64_t after = (l->minute - l->service.batch_at + 2 * DAY) % DAY;
    return l->service.batch_at >= 0 && (after < JOB + 30 || after >= DAY - 45);
}

/* There it is that much more than the job. */
static struct size above_job(const struct size *size, const struct service *s)
{
    struct size more = *size;
    more.latency *= s->batch;
    for (int i = 0; i < SF_WATCH_COSTS; i++)
        more.costs[i] *= i == 1 ? s->batch : sqrt(s->batch);
    return more;
}

/* What the sums of a minute are, of which `share` is with the regression. */
static struct sf_watch_minute mixed(struct service *s, int64_t minute, const struct planted *p,
                                    double share)
{
    struct planted part = nothing;
    part.latency = 1 + share * (p->latency - 1);
    for (int i = 0; i < SF_WATCH_COSTS; i++)
        part.costs[i] = 1 + share * (p->costs[i] - 1);
    part.memory = p->memory;
    part.no_samples = p->no_samples && share >= 1;
    return live(s, minute, &part);
}

/* Minutes from its beginning, somewhere in a minute, to the alert: a minute is read when it has
 * been over for a minute, and evaluated within half of one. NEVER: not within three hours; 0: there
 * was an alert before. */
static double find(const struct life *before, enum sf_watch_kind kind, const struct size *size)
{
    struct life *l = malloc(sizeof(*l));
    double begun, found = NEVER;
    assert_non_null(l);
    *l = *before;
    begin(l->seed + (uint64_t)kind);
    begun = even();
    if (is_up(&l->watch, kind))
        found = 0;
    for (int64_t i = 0; i < 180 && found >= NEVER; i++) {
        struct planted p = nothing;
        struct sf_watch_minute m;
        double grown = (double)i + 1 - begun;
        p.latency = kind == SF_WATCH_LATENCY ? size->latency : 1;
        for (int k = 0; k < SF_WATCH_COSTS; k++)
            p.costs[k] = kind == SF_WATCH_CPU + (unsigned)k ? size->costs[k] : 1;
        p.memory = kind == SF_WATCH_MEMORY ? exp2(grown / size->memory_minutes) : 1;
        p.no_samples = kind == SF_WATCH_STOPPED;
        m = mixed(&l->service, l->minute + i, &p, i ? 1 : 1 - begun);
        if (kind == SF_WATCH_CPU_LIMIT && i)
            m.cpu_share = 0.9 + 0.05 * normal();
        sf_service_watch_step(&l->watch, &m);
        if (is_up(&l->watch, kind))
            found = grown + 1.5;
    }
    free(l);
    return found;
}

struct tally {
    unsigned n, n_late;
    double slowest;
};

static void count(struct tally *t, double minutes)
{
    if (minutes <= 0)
        return;
    t->n++;
    t->n_late += minutes > 15;
    t->slowest = fmax(t->slowest, minutes);
}

enum { ANY_TIME, BESIDE, BESIDE_SMALL, SITUATIONS };
static const char *const situations[SITUATIONS] = {"", ", beside a nightly job and above it",
                                                   ", beside a nightly job"};

static void plant_all(uint64_t seed, const struct size *size, struct tally (*by)[SITUATIONS])
{
    struct life *l = malloc(sizeof(*l));
    assert_non_null(l);
    live_until_planted(l, seed, size);
    for (unsigned k = 0; k < SF_WATCH_NEW_FUNCTION; k++) {
        if (is_beside_job(l) && k < SF_WATCH_MEMORY) {
            struct size more = above_job(size, &l->service);
            count(&by[k][BESIDE], find(l, k, &more));
            count(&by[k][BESIDE_SMALL], find(l, k, size));
        } else {
            count(&by[k][ANY_TIME], find(l, k, size));
        }
    }
    free(l);
}

static void print_tally(const char *kind, unsigned situation, const struct size *size,
                        const struct tally *t)
{
    if (t->n)
        printf("# %s at %.0f requests a minute%s: %u of %u later than 15 minutes, the slowest "
               "after %.1f\n",
               kind, size->least_rate, situations[situation], t->n_late, t->n, t->slowest);
}

/* All of them; beside a nightly job those that are no more than it are found when it is over. */
TEST(service_watch, finds_what_is_planted_within_15_minutes)
{
    unsigned n = test_scaled(10);
    struct tally all[SITUATIONS] = {{0}};
    for (unsigned i = 0; i < 2; i++) {
        struct tally by[SF_WATCH_KINDS][SITUATIONS] = {{{0}}};
        for (unsigned k = 0; k < n; k++)
            plant_all(FIRST_SEED + 1000003 * (i + 1) + k, &sizes[i], by);
        for (unsigned k = 0; k < SF_WATCH_NEW_FUNCTION * SITUATIONS; k++) {
            struct tally *t = &by[k / SITUATIONS][k % SITUATIONS], *sum = &all[k % SITUATIONS];
            print_tally(sf_service_watch_kind_name(k / SITUATIONS), k % SITUATIONS, &sizes[i], t);
            sum->n += t->n;
            sum->n_late += t->n_late;
            sum->slowest = fmax(sum->slowest, t->slowest);
        }
    }
    for (unsigned k = 0; k < SITUATIONS; k++)
        printf("# all%s: %u of %u later than 15 minutes, the slowest after %.1f\n", situations[k],
               all[k].n_late, all[k].n, all[k].slowest);
    assert_int_equal(all[ANY_TIME].n_late + all[BESIDE].n_late, 0);
    assert_true(all[BESIDE_SMALL].slowest < NEVER);
}

TEST(service_watch, finds_a_new_hot_function_and_no_old_one)
{
    unsigned n = test_scaled(1000), n_found = 0;
    begin(99);
    for (unsigned i = 0; i < n; i++) {
        double shares[FUNCTIONS];
        new_shares(shares);
        n_found += is_new(shares, 60 * 100, 10 * 100, 0.25);
    }
    assert_int_equal(n_found, n);
    assert_false(sf_service_watch_is_new(0.001, 6000, 0.04, 6000)); /* too small to matter */
    assert_false(sf_service_watch_is_new(0.05, 6000, 0.15, 6000));  /* it was hot before */
    assert_false(sf_service_watch_is_new(0, 100, 0.5, 100));        /* too few samples */
    assert_false(sf_service_watch_is_new(0, 200, 0.06, 200));       /* chance may do that */
    assert_true(sf_service_watch_is_new(0, 6000, 0.10, 2000));
}

TEST(service_watch, is_quiet_of_a_service_that_goes_away_and_of_what_is_not_measured)
{
    struct sf_service_watch *w = calloc(1, sizeof(*w));
    struct sf_watch_minute m = {.memory = NAN, .cpu_share = NAN, .costs = {NAN, NAN, NAN}};
    assert_non_null(w);
    for (m.minute = 1; m.minute < 400; m.minute++) {
        m.n_requests = m.minute < 200 ? 100 : 0;
        m.n_samples = m.minute < 200 ? 100 : 0;
        m.operations[0] = (struct sf_watch_operation){m.n_requests, 1e7};
        sf_service_watch_step(w, &m);
        for (unsigned k = 0; k < SF_WATCH_KINDS; k++)
            assert_false(is_up(w, k));
    }
    free(w);
}

TEST(service_watch, an_alert_is_over_when_the_number_is_down_again_or_is_normal_now)
{
    struct sf_service_watch *w = calloc(1, sizeof(*w));
    struct sf_watch_minute m = {.memory = NAN, .cpu_share = NAN, .costs = {NAN, NAN, NAN}};
    assert_non_null(w);
    for (m.minute = 1; m.minute < 5000; m.minute++) {
        bool is_slow = (m.minute >= 300 && m.minute < 360) || m.minute >= 1000;
        m.operations[0] = (struct sf_watch_operation){100, is_slow ? 2e7 : 1e7};
        sf_service_watch_step(w, &m);
        if (m.minute < 300 || (m.minute > 375 && m.minute < 1000) || m.minute > 1000 + 15 + DAY)
            assert_false(is_up(w, SF_WATCH_LATENCY));
        else if ((m.minute > 315 && m.minute < 360) || (m.minute > 1015 && m.minute < 1000 + DAY))
            assert_true(is_up(w, SF_WATCH_LATENCY));
        if (m.minute == 340) {
            assert_true(fabs(sf_drift_before(&w->operations[0].drift) - 1e7) < 1e5);
            assert_true(fabs(sf_drift_now(&w->operations[0].drift) - 2e7) < 1e5);
        }
    }
    free(w);
}

/* Sampled now and then, as by hand, a service has sent no profiles for a while most of the time. */
TEST(service_watch, profiles_that_came_now_and_then_have_not_stopped)
{
    for (int n_sending = 49; n_sending <= 50; n_sending++) {
        struct sf_service_watch *w = calloc(1, sizeof(*w));
        assert_non_null(w);
        for (int i = 0; i < SF_WATCH_HOUR; i++) {
            struct sf_watch_minute m = {.minute = 30000000 + i, .n_requests = 100};
            m.n_samples = i < n_sending ? 100 : 0;
            sf_service_watch_step(w, &m);
        }
        assert_int_equal(w->is_stopped, n_sending == 50);
        free(w);
    }
}
