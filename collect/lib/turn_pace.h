/* turn_pace.h - how long the collecting thread sleeps between two turns.
 *
 * A turn searches for new threads and modules and checks for requests. Normally ten turns a second
 * cost nothing measurable. On an overloaded host a program gets a fraction of a CPU and a turn
 * finds cold caches: then ten a second take more than 1 % of the program's CPU time, whatever the
 * sampling rate is. So turns are spread until they cost 0.25 % of it, or are a second apart. */
#pragma once
#include <stdint.h>

#define SF_TURN_NS      ((int64_t)100000000)
#define SF_TURN_MOST_NS ((int64_t)1000000000)

struct sf_turn_pace {            /* a zeroed struct is the initial state */
    int64_t cost_ns;             /* smoothed cost of a turn */
    int64_t time_ns, process_ns; /* monotonic and CPU time when the last turn ended */
};

/* To be called after a turn that ended at `time_ns` and took `cost_ns` of CPU time; `process_ns`:
 * CPU time of the whole process so far. Returns the time until the next turn. */
int64_t sf_turn_pace(struct sf_turn_pace *p, int64_t time_ns, int64_t process_ns, int64_t cost_ns);
