#include "collect/lib/profile_sources.h"
#include "collect/lib/frame_names.h"

#include "collect/lib/cpu_profiler.h"
#include "collect/lib/heap_profiler.h"
#include "collect/lib/stack_copy.h"
#include "collect/lib/wall_profiler.h"

void sf_profile_sources_set(void)
{
    sf_profiler_set_source(SF_SAMPLES_CPU, &sf_cpu_source);
    sf_profiler_set_source(SF_SAMPLES_WALL, &sf_wall_source);
    sf_profiler_set_source(SF_SAMPLES_THREADS, &sf_threads_source);
}

void sf_profile_sources_before_fork(void)
{
    sf_heap_profiler_before_fork();
}

void sf_profile_sources_after_fork(bool is_child)
{
    sf_heap_profiler_after_fork(is_child);
    if (!is_child)
        return;
    sf_modules_after_fork();
    sf_frame_names_after_fork();
    sf_stack_copy_after_fork();
    sf_cpu_profiler_after_fork();
    sf_wall_profiler_after_fork();
    sf_profiler_after_fork();
}
