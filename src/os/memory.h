/* memory.h - how much memory this process has, may have, and returns. */
#pragma once
#include <stdint.h>

uint64_t sf_memory_resident_len(void); /* 0 when /proc does not say */

/* What the control groups of this process allow it: the smallest limit on the way to the root.
 * UINT64_MAX: none. */
uint64_t sf_memory_limit_len(void);
/* The same for tests: `groups` is what /proc/self/cgroup is, `root` what /sys/fs/cgroup is. */
uint64_t sf_memory_limit_in(const char *groups, const char *root);

/* Before threads start. The allocator keeps less for later: large blocks are the kernel's own and
 * go back when they are freed, and threads share few arenas. */
void sf_memory_tune(void);
void sf_memory_give_back(void); /* what is free but held by the allocator; takes milliseconds */
