/* budget_guard.h - keeps the cost of profiling within its budget, whatever the rates are.
 *
 * On every turn of the collecting thread, and when samples have taken SF_BUDGET_GLANCE_NS since the
 * last one, the caller passes what profiling has cost so far. The guard keeps the account
 * (cost_account.h) and says when load_rule.c must decide: at the times that have their turn there,
 * when samples of events come in a burst, and when the account falls to a lower level. Then what is
 * missing is withheld from the budget of the next interval; at the lowest level profiling pauses.
 *
 * The rate of CPU samples is never above what the price of one allows for a process that uses its
 * CPUs, as far as the price is known: a process that was idle and begins to compute is sampled at
 * that rate before any thread of the library runs, and a rate that is raised from outside does not
 * have to be lowered after it was too high.
 *
 * A capture has an account of its own, for as long as it runs: it begins with SF_COST_START_NS, and
 * may use SF_CAPTURE_BUDGET of the CPU time of the process, or the budget if that is more.
 * Meanwhile nothing is paid into or out of the usual account.
 *
 * No clock is used here. */
#pragma once
#include "collect/lib/cost_account.h"
#include "collect/lib/load_rule.h"

enum { SF_CAPTURE_BUDGET = 1000 }; /* hundredths of a percent */
#define SF_BUDGET_GLANCE_NS ((uint64_t)5000000)

struct sf_cost_reading {             /* CPU times since the process started */
    int64_t time_ns;                 /* monotonic */
    uint64_t process_ns, own_ns;     /* own: profiling's part of it, all of the following */
    uint64_t symbols_ns, threads_ns; /* reading symbols; the library's threads without that */
    uint64_t events_ns[SF_LOAD_EVENTS];
    uint64_t asked_ns; /* calls of the program that wait, such as sf_flush(): not to be repaid */
    uint64_t n_signals, signals_ns; /* CPU samples, and what they took */
};

struct sf_budget_terms { /* what applies at this time */
    const struct sf_profiling *rules;
    uint32_t budget_per_10000; /* in place of that of the rules */
    bool is_capturing;
    bool has_bursts; /* bursts of events are limited at once */
    unsigned paced;  /* bits of the events whose rate follows the budget; the cost of others is not
                        to be repaid */
};

struct sf_budget_guard { /* a zeroed struct is the initial state */
    struct sf_cost_account account, capture;
    struct sf_load load;
    struct sf_load_times times;
    struct sf_cost_reading noted, last; /* last: at the last decision; time_ns 0: none yet */
    int64_t unpaced_ns;
    uint64_t used_ns;         /* CPU time of the process in the last whole interval */
    double price_ns;          /* of a CPU sample; 0: not yet measured */
    uint64_t base_hz, cpu_hz; /* sum of CPU and wall rates before they are lowered; CPU's */
    double lowered;           /* before the capture, of usual_hz */
    uint64_t usual_hz;
    enum sf_cost_level level;
    bool is_capturing;
};

/* To be called first in a turn. */
void sf_budget_guard_note(struct sf_budget_guard *g, const struct sf_budget_terms *terms,
                          const struct sf_cost_reading *now);
/* In place of that while no profile has a budget. */
void sf_budget_guard_skip(struct sf_budget_guard *g, const struct sf_cost_reading *now);
/* The rates that are set now, before they are lowered. `configured_hz`: of the configuration. */
void sf_budget_guard_rates(struct sf_budget_guard *g, const struct sf_budget_terms *terms,
                           uint64_t cpu_hz, uint64_t wall_hz, uint64_t configured_hz);
/* What is to be decided now. */
enum sf_load_due sf_budget_guard_due(struct sf_budget_guard *g,
                                     const struct sf_budget_terms *terms);
/* Decides it. `load`: for INTERVAL the shares of the load since the last one; else NULL. */
void sf_budget_guard_step(struct sf_budget_guard *g, const struct sf_budget_terms *terms,
                          enum sf_load_due due, const struct sf_load_seen *load);
/* What reading symbols may take now; may be negative. */
int64_t sf_budget_guard_credit(const struct sf_budget_guard *g);
