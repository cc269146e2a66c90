/* load.h - how busy the host and this process are, read from /proc and the control group (version
 * 2) without the program's malloc. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_load_reading {
    int64_t time_ns;              /* monotonic */
    uint64_t host_busy, host_all; /* the kernel's ticks, of all processors since boot */
    uint64_t stalled_us;          /* time in which a task waited for a processor */
    uint64_t process_ns;          /* CPU time of this process */
    double n_cpus;                /* processors' worth of time it may use: affinity and quota */
    uint64_t memory_len;          /* resident; the control group's own when that has a limit */
    bool has_host, has_stalled;
};

void sf_load_read(struct sf_load_reading *out); /* what cannot be read is 0 */
/* Processors' worth of time that affinity and the quotas of its control groups leave to the
 * process; 0: all that the machine has, or not known. */
double sf_load_cpu_limit(void);
