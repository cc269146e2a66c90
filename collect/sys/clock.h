/* clock.h - time and random numbers without keeping a descriptor open; clocks are read through the
 * vdso. */
#pragma once
#include <stddef.h>
#include <stdint.h>

int64_t sf_clock_mono_ns(void);
int64_t sf_clock_unix_ns(void);
int64_t sf_clock_boot_ns(void);         /* the clock of the process context's timestamp */
uint64_t sf_clock_process_cpu_ns(void); /* CPU time that the process, or this thread, has used so
                                         * far */
uint64_t sf_clock_thread_cpu_ns(void);
/* Random bytes from the kernel, or, if that fails, a mix of clocks and addresses: ids stay
 * distinct, and none of them is a secret. Keeps errno. */
void sf_clock_random_fill(void *out, size_t len);
