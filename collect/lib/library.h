/* library.h - the library's single instance in a process. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/lib/settings.h"
#include "collect/lib/thread.h"
#include "collect/send/exporter.h"

struct sf_library {
    atomic_bool is_on;        /* spans are recorded */
    atomic_bool is_new_child; /* the process is a forked child in which the library was not used
                               * yet */
    atomic_uint epoch;        /* from 1; incremented in every forked child */
    struct sf_settings settings;
    struct sf_exporter exporter;
    atomic_uint_fast64_t dropped, nested, attrs_dropped;
};

extern struct sf_library sf_library;

enum sf_err sf_library_follow_forks(struct sf_why *why); /* works once; may be called any number of
                                                          * times */
/* Called for a forked child's first span: publishes its context and starts the profilers that its
 * parent had. */
void sf_library_begin_child(void);
void sf_library_say(const char *text);            /* stored for sf_problem */
size_t sf_library_problem(char *out, size_t cap); /* like sf_problem, for the library's own
                                                   * threads */

/* Surround every public call. False: a signal handler has called the library inside another call;
 * then it must do nothing. */
static inline bool sf_library_enter(struct sf_thread_state *t)
{
    if (__builtin_expect(t->is_inside, 0)) {
        atomic_fetch_add_explicit(&sf_library.nested, 1, memory_order_relaxed);
        return false;
    }
    t->is_inside = true;
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(t->epoch != atomic_load_explicit(&sf_library.epoch, memory_order_relaxed),
                         0))
        sf_thread_prepare(t, atomic_load_explicit(&sf_library.epoch, memory_order_relaxed));
    return true;
}
static inline void sf_library_leave(struct sf_thread_state *t)
{
    atomic_signal_fence(memory_order_seq_cst);
    t->is_inside = false;
}
