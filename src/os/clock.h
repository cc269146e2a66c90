/* clock.h - wall-clock, monotonic and CPU time. */
#pragma once
#include <stdint.h>

int64_t sf_clock_wall_ns(void); /* unix time; may jump */
int64_t sf_clock_mono_ns(void); /* never goes back; only differences are meaningful */
int64_t sf_clock_cpu_ns(void);  /* CPU time of the whole process */
void sf_clock_sleep_ms(unsigned ms);
