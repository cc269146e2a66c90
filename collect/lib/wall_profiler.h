/* wall_profiler.h - the wall-clock profiler: stacks of threads, whether they run or wait.
 *
 * No signal is sent to a waiting thread: its poll or sleep would return with EINTR. Running threads
 * are covered by the CPU profiler's samples, each weighted with its CPU time. Waiting threads are
 * examined from another thread: the kernel gives the system call and the stack pointer; the stack
 * is copied and walked, and discarded if the thread has moved on meanwhile. Each such sample is
 * weighted with the time since the last one of that thread. A turn examines only a few threads, so
 * hundreds of sleeping ones cost no more than a few. */
#pragma once
#include "collect/lib/profiler.h"

extern const struct sf_profiler_source sf_wall_source;
extern const struct sf_profiler_source
    sf_threads_source; /* all threads once, when a profile ends */
void sf_wall_profiler_after_fork(void);
