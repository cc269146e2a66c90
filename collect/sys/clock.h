/* clock.h - time and chance, as a guest may ask for them: vdso reads, no descriptor kept. */
#pragma once
#include <stddef.h>
#include <stdint.h>

int64_t sf_clock_mono_ns(void);
int64_t sf_clock_unix_ns(void);
int64_t sf_clock_boot_ns(void);         /* what the process context is stamped with */
uint64_t sf_clock_process_cpu_ns(void); /* that the process, or this thread, has used so far */
uint64_t sf_clock_thread_cpu_ns(void);
/* Unpredictable bytes from the kernel; when it has none, the clocks and addresses stirred: ids stay
 * distinct, and nothing here is a secret. Keeps errno. */
void sf_clock_random_fill(void *out, size_t len);
