/* governor.h - decides whether and how often the profilers sample, from the configuration, the
 * load, and the server's settings.
 *
 * It decides in the collecting thread, once per interval; the polling thread stores the server's
 * settings here, and the next turn applies them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/profiling_keys.h"

/* Once, before profilers start; `block` is copied. */
/* `is_for_file`: also applies to a recording to a file, not only to profiles for the server. */
void sf_governor_init(const struct sf_profiling *block, bool is_for_file);
/* In the child: discards measurements and the server's settings. */
void sf_governor_after_fork(void);

/* The current number of CPU samples per second; 0: none. Any thread, also in handlers. */
uint64_t sf_governor_rate(void);

/* Share of the process's CPU time that profiling may use, in hundredths of a percent. For the
 * collecting thread. */
uint32_t sf_governor_budget(void);

/* CPU time that reading symbols may take now; may be negative. For the collecting thread. */
int64_t sf_governor_symbol_credit(void);

struct sf_governor_wish { /* settings from the server; zeroed: none */
    bool is_off;
    uint64_t cpu_hz, wall_hz; /* 0: as configured */
    int64_t rates_until_ns;   /* monotonic; 0: no end */
    bool has_budget;
    uint32_t budget_per_10000;
    unsigned capture_kinds; /* bits; 0: no capture. A capture overrides rates and "off" */
    uint64_t capture_hz;
};
/* Waits until the settings are in effect, at most a second: perhaps no profiler is on, and
 * then they are not applied. */
void sf_governor_wish_set(const struct sf_governor_wish *w);
bool sf_governor_is_settled(void); /* the last settings are in effect, or cannot be */
