/* memory.h - memory used by this process, its limits, and returning memory to the system. */
#pragma once
#include <stdint.h>

uint64_t sf_memory_resident_len(void); /* 0 if /proc cannot be read */

/* The memory limit of this process: the smallest limit of its control groups up to the root.
 * UINT64_MAX: none. */
uint64_t sf_memory_limit_len(void);
/* The same for tests: `groups` replaces /proc/self/cgroup, `root` replaces /sys/fs/cgroup. */
uint64_t sf_memory_limit_in(const char *groups, const char *root);

/* To be called before threads start. Makes the allocator keep less free memory: large blocks are
 * mapped separately and returned when freed, and threads share few arenas. */
void sf_memory_tune(void);
void sf_memory_give_back(void); /* returns free memory of the allocator to the system; takes
                                 * milliseconds */
