/* perf_event.h - converts perf's events to profile types: one series per event of a file. Private
 * to this module. */
#pragma once
#include "base/limits.h"
#include "decode/profile_build.h"

struct sf_perf_events {
    struct sf_profile_build *b;
    sf_str names[SF_LIMIT_SAMPLE_TYPES]; /* as spelled in the file */
    uint32_t series[SF_LIMIT_SAMPLE_TYPES];
    uint32_t n;
};

/* The series of event `name` ("cycles:u", "sched:sched_switch"). Clock events count nanoseconds if
 * samples have a period, other events count themselves; without periods each sample counts as one.
 * SF_NONE: too many events, or the arena is full. */
uint32_t sf_perf_events_find(struct sf_perf_events *e, sf_str name, bool has_period);
