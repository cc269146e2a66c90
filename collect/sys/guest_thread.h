/* guest_thread.h - a thread of the library in the host process: detached, with all signals blocked,
 * a small stack and a name. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_guest {
    const char *name;
    bool is_profiling; /* its CPU time is part of what profiling costs */
    void (*run)(void *arg);
    void *arg;
};

/* False: the system gave none. Keeps errno. */
bool sf_guest_thread_start(struct sf_guest g);
void *sf_guest_thread_begin(void *guest); /* what pthread_create is given for one of them */
bool sf_guest_thread_is(uint32_t tid);    /* whether that thread is one of ours */
/* CPU time of those that profile, since the process began. */
uint64_t sf_guest_thread_cpu_ns(void);
void sf_guest_thread_forget(void); /* in a forked child: none of them came along */
/* What this thread does now is ours, not the program's: hooks pass by. Always true in our threads.
 */
extern __thread bool sf_guest_is_at_work;
