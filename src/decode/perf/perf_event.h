/* perf_event.h - what perf's events measure, as profile types: one series per event of a file.
 * Private to this module. */
#pragma once
#include "base/limits.h"
#include "decode/profile_build.h"

struct sf_perf_events {
    struct sf_profile_build *b;
    sf_str names[SF_LIMIT_SAMPLE_TYPES]; /* as the file spells them */
    uint32_t series[SF_LIMIT_SAMPLE_TYPES];
    uint32_t n;
};

/* The series of event `name` ("cycles:u", "sched:sched_switch"). The clocks count nanoseconds when
 * samples have a period, the other events whatever their name says; without periods each sample is
 * one. SF_NONE: too many events, or the arena is full. */
uint32_t sf_perf_events_find(struct sf_perf_events *e, sf_str name, bool has_period);
