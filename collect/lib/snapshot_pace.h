/* snapshot_pace.h - how often to examine all threads of a program.
 *
 * A profile of threads examines each of them when it ends. With hundreds of threads that takes
 * milliseconds of CPU time, whatever the sampling rate is. So it may take a quarter of the budget
 * for profiling: when it takes more, profiles are sent without it until enough CPU time has
 * passed. Each of them shows one moment, so fewer of them do not change what they say. The caller
 * measures; no clock is used here. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_snapshot_pace { /* a zeroed struct is the initial state: the first one is due */
    int64_t time_ns;      /* monotonic, of the last one */
    uint64_t process_ns;  /* CPU time of the process then */
    uint64_t cost_ns;     /* what it took */
};

bool sf_snapshot_pace_is_due(const struct sf_snapshot_pace *p, uint32_t budget_per_10000,
                             int64_t time_ns, uint64_t process_ns);
