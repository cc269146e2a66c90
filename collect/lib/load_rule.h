/* load_rule.h - decides how often to sample under a measured load.
 *
 * The cost of profiling is always limited by a budget: above it the rate is halved or
 * lowered to what the budget allows, whichever is less, down to an eighth of the base rate; below
 * it the rate rises by a quarter of the base rate per step, as far as the budget allows. For a rate
 * that the server raised, the lower bound is an eighth of the configured rate, because an eighth of
 * the raised one can exceed the budget. Adaptive rules halve it above the thresholds of the load,
 * too. When the host is overloaded twice in a row, profiling pauses until the load is ten points
 * lower.
 *
 * Samples of events, which are heap samples and samples of waits, follow the same share. Each of
 * the two also has a limit of its own: a program can allocate or wait so often that an eighth of
 * the base rate exceeds the budget. Together they may cost half of the budget; a quarter of it is
 * for each, and what one leaves of it is for the other. The limit is the largest power of two, from
 * 1 to 1/1024 for the heap and to 1/65536 for waits, that keeps this. It falls at once and rises by
 * one power per step.
 *
 * The CPU time of the library's threads hardly depends on the rate: if it alone exceeds the budget,
 * or samples exceed what it leaves, the rate is lowered accordingly.
 *
 * While profiling has to repay what it overspent (cost_account.h), a part of the budget is
 * withheld, and the lowest rate is an eighth of the usual lowest one. If that does not suffice,
 * profiling pauses, and begins again with this lowest rate.
 *
 * At the beginning, and after the rate was raised from outside, the cost is unknown. So it is
 * checked early, after 1, 2 and 4 s more, and only to lower rates: each change ends a window, and
 * sending a window costs CPU time, too. It is also checked as soon as samples of events have taken
 * as much as they may take in a whole interval.
 *
 * The caller measures; no clock or file is used here. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/profiling_keys.h"

enum {
    SF_LOAD_FLOOR_PARTS = 8, /* the lowest rate is usually this part of the configured one */
    SF_LOAD_BUDGET_PARTS = 5 /* samples and threads may take all but one of so many parts */
};

enum sf_load_event { /* samples that the program's own events cause */
                     SF_LOAD_HEAP,
                     SF_LOAD_WAITS, /* for locks and in blocking calls */
                     SF_LOAD_EVENTS
};

struct sf_load_seen {  /* one interval; shares in hundredths of a percent */
    uint32_t host;     /* used share of the host's CPU time */
    uint32_t process;  /* used share of the CPU time that this process may use */
    uint32_t pressure; /* share of the interval in which some task waited for a CPU; 0: unknown */
    uint64_t memory_len;
    uint64_t length_ns, process_ns, own_ns; /* own: profiling's part of process_ns */
    uint64_t events_ns[SF_LOAD_EVENTS];     /* the parts of own_ns that these samples took */
    uint64_t threads_ns;                    /* the part of own_ns that the library's threads took */
    double repay;                           /* part of the budget that is withheld: 0 to 1 */
};

struct sf_load {                       /* a zeroed struct is the initial state */
    double lowered;                    /* part of the base rate that is removed: 0 to 1 - floor */
    double floor;                      /* part of the base rate that always remains; 0: an eighth */
    unsigned n_over;                   /* intervals in a row in which the host was overloaded */
    unsigned halvings[SF_LOAD_EVENTS]; /* limits of their shares: 1 / 2 to this power */
    bool is_paused;                    /* the host was overloaded */
    bool is_in_debt;                   /* profiling pauses until it has repaid what it took */
};

struct sf_load_times { /* when to measure, monotonic; a zeroed struct is the initial state */
    int64_t interval_ns, early_ns; /* end of the interval, and of the early check in it */
    unsigned n_early;              /* early checks so far */
};
enum sf_load_due { SF_LOAD_NOT_DUE, SF_LOAD_BURST, SF_LOAD_EARLY, SF_LOAD_INTERVAL };
/* Which measurement is due, never BURST; the next one is scheduled. The first call returns
 * INTERVAL.
 */
enum sf_load_due sf_load_rule_due(struct sf_load_times *t, int64_t now_ns, int64_t interval_ns);
/* The cost is unknown again: early checks begin. They must begin with a reading. */
void sf_load_rule_restart(struct sf_load_times *t, int64_t now_ns);

/* Have samples of events taken more than they may in a whole interval? `process_ns` is the CPU time
 * that the process is expected to use in it. */
bool sf_load_rule_is_burst(const struct sf_profiling *rules, uint64_t events_ns,
                           uint64_t process_ns);

/* Applies the figures of one more interval. */
void sf_load_rule_step(struct sf_load *l, const struct sf_profiling *rules,
                       const struct sf_load_seen *seen);
/* Applies the cost in a part of an interval: lowers rates for the budget, and changes nothing else.
 */
void sf_load_rule_step_early(struct sf_load *l, const struct sf_profiling *rules,
                             const struct sf_load_seen *seen);
/* Applies the cost of events in a time that ended with a burst of them: lowers their limits, and
 * changes nothing else, because so short a time tells little of other costs. */
void sf_load_rule_step_burst(struct sf_load *l, const struct sf_profiling *rules,
                             const struct sf_load_seen *seen);
/* Adapts to a changed base rate, so that a lower rate is not reduced twice. */
void sf_load_rule_rebase(struct sf_load *l, double before, double after);
/* A share above this would exceed the budget, as far as the price of a sample is known. */
void sf_load_rule_cap(struct sf_load *l, double share);
/* Profiling pauses, or begins again after a pause, to repay what it took. */
void sf_load_rule_set_debt(struct sf_load *l, bool is_in_debt);
/* The share of the base rate to sample at: from the floor, or an eighth of it in debt, to 1. */
double sf_load_rule_share(const struct sf_load *l);
/* The share of their configured rate to sample these events at; the server cannot raise that. */
double sf_load_rule_event_share(const struct sf_load *l, enum sf_load_event event);
