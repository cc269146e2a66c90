/* load.h - how busy the host and this process are, read from /proc and the control group (version
 * 2) without the program's malloc. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_load_reading {
    int64_t time_ns;              /* monotonic */
    uint64_t host_busy, host_all; /* ticks of all CPUs since boot */
    uint64_t stalled_us;          /* time in which some task waited for a CPU */
    uint64_t process_ns;          /* CPU time of this process */
    double n_cpus;                /* number of CPUs it may use, by affinity and quota */
    uint64_t memory_len; /* resident memory; the anonymous memory of a control group with a limit,
                          * if that is more */
    bool has_host, has_stalled;
};

void sf_load_read(struct sf_load_reading *out); /* values that cannot be read are 0 */
/* The number of CPUs that affinity and the quotas of its control groups allow the process; 0: all
 * of the machine, or unknown. */
double sf_load_cpu_limit(void);
