/* wall_profiler.h - where threads are, whether they run or wait.
 *
 * No signal is sent to a thread that waits: a poll or a sleep would come back with EINTR. Threads
 * that run are seen by the CPU profiler's samples, each worth its CPU time. Threads that wait are
 * examined from outside: the kernel says in which call, with which stack pointer; the stack is
 * copied and walked, and thrown away if the thread has moved on meanwhile. Each such look is worth
 * the time since the last one at that thread. A turn examines a few threads only, so hundreds of
 * sleepers cost what a few do. */
#pragma once
#include "collect/lib/profiler.h"

extern const struct sf_profiler_source sf_wall_source;
extern const struct sf_profiler_source
    sf_threads_source; /* all threads once, when a profile ends */
void sf_wall_profiler_after_fork(void);
