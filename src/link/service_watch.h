/* service_watch.h - decides the built-in alerts of one service, minute by minute.
 *
 * Gets the sums of each minute, in order; uses no store and no clock. A number that was not
 * measured is NAN. Costs and durations are per request: minutes with few requests are combined. */
#pragma once
#include "base/limits.h"
#include "link/drift.h"

enum sf_watch_kind {
    SF_WATCH_LATENCY,
    SF_WATCH_CPU,
    SF_WATCH_LOCK,
    SF_WATCH_ALLOCATION,
    SF_WATCH_MEMORY,
    SF_WATCH_CPU_LIMIT,
    SF_WATCH_STOPPED,
    SF_WATCH_NEW_FUNCTION,
    SF_WATCH_KINDS
};

enum { SF_WATCH_COSTS = 3, SF_WATCH_HOUR = 70 }; /* CPU, lock, allocation; minutes kept */

struct sf_watch_operation { /* requests of one name in one minute */
    double n, mean_ns;
};

struct sf_watch_minute {
    int64_t minute;    /* since 1970 */
    double n_requests; /* of the whole service */
    double costs[SF_WATCH_COSTS];
    double memory;    /* bytes in use per process */
    double n_samples; /* of any profile; 0: none came */
    double cpu_share; /* share of the CPU limit */
    struct sf_watch_operation operations[SF_LIMIT_WATCH_OPERATIONS]; /* n 0: none */
};

struct sf_watch_series { /* per request: minutes are combined until there are enough */
    struct sf_drift drift;
    double cost, n;
    int64_t first_minute;
};

struct sf_service_watch { /* zero-initialized */
    struct sf_watch_series operations[SF_LIMIT_WATCH_OPERATIONS], costs[SF_WATCH_COSTS];
    struct sf_drift memory;
    float requests[SF_WATCH_HOUR], samples[SF_WATCH_HOUR]; /* rings by minute */
    uint8_t is_near[SF_DRIFT_RECENT];                      /* by minute: near its CPU limit */
    float cpu_share;                                       /* of the last minute with a value */
    uint32_t n_minutes;
    double samples_per_request; /* before they stopped */
    bool is_near_limit, is_stopped;
};

void sf_service_watch_step(struct sf_service_watch *w, const struct sf_watch_minute *m);
const char *sf_service_watch_kind_name(enum sf_watch_kind kind); /* "latency" */

/* Is a function hot that was not before a deploy? Compares shares of the samples of all code, with
 * the numbers of samples. Samples of one request are correlated, so six count as one. */
bool sf_service_watch_is_new(double share_before, double n_before, double share_after,
                             double n_after);
