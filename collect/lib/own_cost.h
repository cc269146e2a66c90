/* own_cost.h - the CPU time that profiling itself takes in this process: handlers and hooks that
 * take samples, and the library's threads that collect, name and send them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Add the time of one sample in its hook, or in its handler, to which the cost of the signal is
 * added. Samples of the heap and of waits are also counted separately. Safe in handlers. */
void sf_own_cost_add_heap(int64_t ns);
void sf_own_cost_add_wait(int64_t ns);
void sf_own_cost_add_signal(int64_t ns);
void sf_own_cost_price_signals(int64_t ns); /* cost of each later signal; 0: unchanged */
uint64_t sf_own_cost_ns(void);              /* since the process started; any thread */
/* A thread sampled by `n_clocks` of perf's clocks was scheduled `n` times. */
void sf_own_cost_add_switches(uint64_t n, unsigned n_clocks);
/* The part spent on reading symbols, in the library's threads. */
void sf_own_cost_add_symbols(uint64_t ns);
uint64_t sf_own_cost_symbols_ns(void);
/* The part that is not to be repaid: calls of the program that wait for the library's threads, and
 * names that are read without a budget. */
void sf_own_cost_add_asked(uint64_t ns);
uint64_t sf_own_cost_asked_ns(void);
uint64_t sf_own_cost_heap_ns(void);           /* the part of heap samples */
uint64_t sf_own_cost_waits_ns(void);          /* the part of samples of waits */
uint64_t sf_own_cost_signals_ns(uint64_t *n); /* the part of CPU samples, and their number */
/* Calls `alarm` once, when samples have taken `ns` more than now. Calls `brake` when samples of
 * events take more than twice that, and again for each half of it: the thread that was to be woken
 * does not run. Both are called in handlers and hooks. */
struct sf_own_cost_watch {
    uint64_t ns;
    void (*alarm)(void);
    void (*brake)(bool is_heap); /* else waits */
};
void sf_own_cost_watch(const struct sf_own_cost_watch *w);
/* The recent share of profiling in the process's CPU time, in millionths, over 10 s or longer: a
 * shorter time may contain no more than the library's own thread. */
#define SF_OWN_COST_WINDOW_NS ((int64_t)10000000000)
struct sf_own_cost_reading {
    int64_t time_ns; /* monotonic */
    uint64_t own_ns, process_ns;
};
struct sf_own_cost_window { /* zeroed: the process has just started */
    struct sf_own_cost_reading from, next;
};
uint32_t sf_own_cost_share(struct sf_own_cost_window *w, const struct sf_own_cost_reading *now);

void sf_own_cost_after_fork(void); /* in the child: starts from zero */
