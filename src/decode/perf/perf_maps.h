/* perf_maps.h - the address spaces in a perf.data file: which file is mapped where in which
 * process, and when. Private to this module. */
#pragma once
#include "decode/profile_build.h"

struct sf_perf_map {
    uint64_t start, limit, off;
    sf_str file, build_id; /* build_id: hexadecimal, or empty */
};

struct sf_perf_process {
    uint32_t pid;
    uint32_t parent, n_parent; /* index of the process it was forked from, and the number of its
                                * maps then */
    struct sf_profile_list maps;
    sf_str comm;
};

struct sf_perf_maps {
    struct sf_profile_build *b;
    struct sf_profile_list processes;
    struct sf_table process_at;
    uint64_t work; /* steps of all lookups */
};

enum { SF_PERF_KERNEL_PID = -1 };

/* The process, added when it is new; SF_NONE: the arena is full. */
uint32_t sf_perf_maps_process(struct sf_perf_maps *m, uint32_t pid);
static inline struct sf_perf_process *sf_perf_maps_at(const struct sf_perf_maps *m, uint32_t place)
{
    return (struct sf_perf_process *)m->processes.items + place;
}
void sf_perf_maps_add(struct sf_perf_maps *m, uint32_t pid, const struct sf_perf_map *map);
void sf_perf_maps_fork(struct sf_perf_maps *m, uint32_t pid, uint32_t parent);
/* The process has called exec: its maps are removed. */
void sf_perf_maps_exec(struct sf_perf_maps *m, uint32_t pid);
/* The newest map that covers the address, or NULL. */
const struct sf_perf_map *sf_perf_maps_find(struct sf_perf_maps *m, uint32_t pid, uint64_t addr);
