#include "collect/lib/profile_sources.h"

#include <stdio.h>
#include <string.h>

#include "collect/lib/cpu_profiler.h"
#include "collect/lib/frame_names.h"
#include "collect/lib/governor.h"
#include "collect/lib/heap_profiler.h"
#include "collect/lib/selection.h"
#include "collect/lib/stack_copy.h"
#include "collect/lib/wall_profiler.h"

void sf_profile_sources_set(void)
{
    sf_profiler_set_source(SF_SAMPLES_CPU, &sf_cpu_source);
    sf_profiler_set_source(SF_SAMPLES_WALL, &sf_wall_source);
    sf_profiler_set_source(SF_SAMPLES_THREADS, &sf_threads_source);
}

enum sf_err sf_profile_sources_check(unsigned kinds, struct sf_why *why)
{
    unsigned missing = kinds & ~sf_profiler_kinds_there();
    char words[120] = "";
    if (missing & SF_HEAP_KINDS)
        snprintf(words, sizeof(words), "heap");
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        size_t len = strlen(words);
        if (missing & ~SF_HEAP_KINDS & 1u << kind)
            snprintf(words + len, sizeof(words) - len, "%s%s", len ? ", " : "",
                     sf_sample_kind_info((enum sf_sample_kind)kind)->word);
    }
    return missing ? sf_fail(why, SF_ERR_UNSUPPORTED,
                             "profile: not available, because this program's calls do not pass "
                             "through the library: %s",
                             words)
                   : SF_OK;
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
    sf_governor_after_fork();
    sf_selection_after_fork();
}
