/* own_cost.h - the CPU time that profiling itself takes in this process: handlers and hooks that
 * take samples, and the library's threads that collect, name and send them. */
#pragma once
#include <stdint.h>

/* One sample took that long in its hook, or in its handler, beside what its signal takes. Safe in
 * handlers. */
void sf_own_cost_add(int64_t ns);
void sf_own_cost_add_signal(int64_t ns);
void sf_own_cost_price_signals(int64_t ns); /* of all of them; 0: as it was */
uint64_t sf_own_cost_ns(void);              /* since the process began; any thread */
/* Its part that went into reading symbols, in the library's threads. */
void sf_own_cost_add_symbols(uint64_t ns);
uint64_t sf_own_cost_symbols_ns(void);
void sf_own_cost_after_fork(void); /* in the child: nothing was spent yet */
