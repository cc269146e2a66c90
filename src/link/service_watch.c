#include "link/service_watch.h"

#include <math.h>
#include <stddef.h>

enum {
    LEAST_REQUESTS = 20, /* at least this many requests for one value of a series */
    LONGEST = 5,         /* at most this many minutes for one value */
    NEAR = 7,            /* minutes of ten */
    NEAR_NO_MORE = 3,
    STOPPED = 10, /* minutes without a sample after which sampling has stopped */
    SENDING = 50, /* minutes with samples among the sixty before */
    EXPECTED = 30,
    NEW_SAMPLES = 400,
};
#define NEAR_SHARE 0.8
#define ALIKE      6.0 /* samples of one request that count as one */
#define NEW_SHARE  0.05
#define NEW_TIMES  4.0
#define NEW_SIGMAS 6.0

/* A quarter more, or half more of what is noisy by nature; the second number excludes irrelevant
 * changes. */
static const struct sf_drift_rule latency_rule = {0.2231, 500e3}, memory_rule = {0.2624, 4 << 20},
                                  cost_rules[SF_WATCH_COSTS] = {
                                      {0.2231, 50e3}, {0.4055, 200e3}, {0.2231, 1024}};

const char *sf_service_watch_kind_name(enum sf_watch_kind kind)
{
    static const char *const names[SF_WATCH_KINDS] = {
        [SF_WATCH_LATENCY] = "latency", [SF_WATCH_CPU] = "cpu",
        [SF_WATCH_LOCK] = "lock",       [SF_WATCH_ALLOCATION] = "allocation",
        [SF_WATCH_MEMORY] = "memory",   [SF_WATCH_CPU_LIMIT] = "cpu_limit",
        [SF_WATCH_STOPPED] = "stopped", [SF_WATCH_NEW_FUNCTION] = "new_function",
    };
    return names[kind];
}

/* ---- per request ---- */

static void service_watch_add(struct sf_watch_series *s, const struct sf_drift_rule *rule,
                              int64_t minute, double cost, double n)
{
    if (n > 0 && isfinite(cost)) {
        s->first_minute = s->n > 0 ? s->first_minute : minute;
        s->cost += cost;
        s->n += n;
    }
    if (s->n >= LEAST_REQUESTS) {
        if (s->cost > 0)
            sf_drift_step(&s->drift, rule, minute, s->cost / s->n);
        s->cost = s->n = 0;
    } else if (s->n > 0 && minute - s->first_minute >= LONGEST - 1) {
        s->cost = s->n = 0; /* too few for a value */
    }
}

/* ---- near its CPU limit ---- */

static void step_limit(struct sf_service_watch *w, const struct sf_watch_minute *m)
{
    uint32_t n = 0;
    w->is_near[w->n_minutes % SF_DRIFT_RECENT] = m->cpu_share >= NEAR_SHARE;
    if (isfinite(m->cpu_share))
        w->cpu_share = (float)m->cpu_share;
    for (uint32_t i = 0; i < SF_DRIFT_RECENT; i++)
        n += w->is_near[i];
    w->is_near_limit = n >= NEAR || (w->is_near_limit && n >= NEAR_NO_MORE);
}

/* ---- profiles that stop ---- */

/* Samples stopped although requests continue that had samples an hour ago: without requests there
 * is nothing to sample. */
static void step_samples(struct sf_service_watch *w, const struct sf_watch_minute *m)
{
    double requests = 0, samples = 0, requests_before = 0, samples_before = 0;
    uint32_t n_sending = 0;
    w->requests[w->n_minutes % SF_WATCH_HOUR] = (float)m->n_requests;
    w->samples[w->n_minutes % SF_WATCH_HOUR] = (float)m->n_samples;
    if (w->n_minutes + 1 < SF_WATCH_HOUR)
        return;
    for (uint32_t i = 0; i < SF_WATCH_HOUR; i++) {
        uint32_t place = (w->n_minutes - i) % SF_WATCH_HOUR;
        if (i < STOPPED) {
            requests += (double)w->requests[place];
            samples += (double)w->samples[place];
        } else {
            requests_before += (double)w->requests[place];
            samples_before += (double)w->samples[place];
            n_sending += w->samples[place] > 0;
        }
    }
    if (samples > 0) {
        w->is_stopped = false;
        return;
    }
    if (!w->is_stopped && n_sending >= SENDING && requests_before > 0) {
        w->samples_per_request = samples_before / requests_before;
        w->is_stopped = w->samples_per_request * requests >= EXPECTED;
    } else if (w->is_stopped && requests + requests_before <= 0) {
        w->is_stopped = false; /* the service is gone */
    }
}

/* ---- all of it ---- */

void sf_service_watch_step(struct sf_service_watch *w, const struct sf_watch_minute *m)
{
    for (size_t i = 0; i < SF_LIMIT_WATCH_OPERATIONS; i++)
        service_watch_add(&w->operations[i], &latency_rule, m->minute,
                          m->operations[i].n * m->operations[i].mean_ns, m->operations[i].n);
    for (size_t i = 0; i < SF_WATCH_COSTS; i++) {
        /* In a minute without a profile, the cost of the requests is unknown. */
        if (isfinite(m->costs[i]) && m->costs[i] > 0)
            service_watch_add(&w->costs[i], &cost_rules[i], m->minute, m->costs[i], m->n_requests);
    }
    if (isfinite(m->memory) && m->memory > 0)
        sf_drift_step(&w->memory, &memory_rule, m->minute, m->memory);
    step_limit(w, m);
    step_samples(w, m);
    w->n_minutes++;
}

bool sf_service_watch_is_new(double share_before, double n_before, double share_after,
                             double n_after)
{
    double both, error;
    if (n_before < NEW_SAMPLES || n_after < NEW_SAMPLES || share_after < NEW_SHARE ||
        share_after < NEW_TIMES * share_before)
        return false;
    both = (share_before * n_before + share_after * n_after) / (n_before + n_after);
    error = sqrt(ALIKE * both * (1 - both) * (1 / n_before + 1 / n_after));
    return share_after - share_before > NEW_SIGMAS * error;
}
