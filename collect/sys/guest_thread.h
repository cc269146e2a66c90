/* guest_thread.h - a thread of the library in the program's process: detached, with all signals
 * blocked, a small stack and a name. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_guest {
    const char *name;
    bool is_profiling; /* its CPU time counts as cost of profiling */
    void (*run)(void *arg);
    void *arg;
};

/* False: the system refused. Keeps errno. */
bool sf_guest_thread_start(struct sf_guest g);
void *sf_guest_thread_begin(void *guest); /* start routine of these threads for pthread_create */
bool sf_guest_thread_is(uint32_t tid);    /* whether that thread is one of ours */
/* CPU time of the profiling threads, since the process started. */
uint64_t sf_guest_thread_cpu_ns(void);
void sf_guest_thread_forget(void); /* in a forked child, which has none of them */
/* Begin and end code of the library that a thread sanitizer in the program must not judge. */
void sf_guest_thread_unwatch(void);
void sf_guest_thread_watch(void);
/* True: this thread currently runs code of the library, so hooks do nothing. Always true in the
 * library's threads. */
extern __thread bool sf_guest_is_at_work;
