/* governor.h - how often the profilers sample, and whether at all, while they run: according to the
 * configuration, the load, and the server's settings.
 *
 * Decides in the collecting thread, once per interval; the server's settings are stored here by the
 * thread that asks it and taken up on the next turn. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/profiling_keys.h"

/* Once, before profilers start; `block` is copied. */
/* `is_for_file`: it governs a recording to a file, too, and not only what the server gets. */
void sf_governor_init(const struct sf_profiling *block, bool is_for_file);
void sf_governor_after_fork(void); /* in the child: nothing was measured yet */

/* CPU samples per second in effect; 0: none are taken. Any thread, also in handlers. */
uint64_t sf_governor_rate(void);

/* Of the process's CPU time, for profiling itself. The collecting thread's. */
uint32_t sf_governor_budget(void);

struct sf_governor_wish { /* of the server; zeroed: no settings */
    bool is_off;
    uint64_t cpu_hz, wall_hz; /* 0: as the settings say */
    int64_t rates_until_ns;   /* monotonic; 0: permanently */
    bool has_budget;
    uint32_t budget_per_10000;
    unsigned capture_kinds; /* bits; 0: no capture. It goes before the rates, and before off */
    uint64_t capture_hz;
};
/* Waits until it is in effect, a second at most: no profiler may be on. */
void sf_governor_wish_set(const struct sf_governor_wish *w);
bool sf_governor_is_settled(void); /* the last request is in effect, or cannot be */
