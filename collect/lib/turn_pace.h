/* turn_pace.h - how long the collecting thread sleeps between two turns.
 *
 * A turn searches for new threads and modules and asks what to do. Ten a second cost a program that
 * computes nothing that can be measured. On a host that is overloaded a program gets a fraction of
 * a processor and a turn finds all caches cold: then ten a second are more than a percent of the
 * program's CPU time, whatever the sampling rate is. So turns are spread until they cost a quarter
 * of a percent of it, or are a second apart. */
#pragma once
#include <stdint.h>

#define SF_TURN_NS      ((int64_t)100000000)
#define SF_TURN_MOST_NS ((int64_t)1000000000)

struct sf_turn_pace {            /* a zeroed one is ready */
    int64_t cost_ns;             /* of a turn, smoothed */
    int64_t time_ns, process_ns; /* when the last turn ended */
};

/* A turn has ended at `time_ns` that took `cost_ns` of CPU time; `process_ns`: CPU time of the
 * whole process so far. The time until the next. */
int64_t sf_turn_pace(struct sf_turn_pace *p, int64_t time_ns, int64_t process_ns, int64_t cost_ns);
