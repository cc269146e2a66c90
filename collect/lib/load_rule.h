/* load_rule.h - how often to sample under the load that was seen: figures in, a decision out.
 *
 * Profiling's own cost is held to a budget in any case: above it the rate is halved, down to an
 * eighth of the base; below it a quarter of the base comes back per step, as far as the budget
 * lasts. Adaptive rules halve it above the thresholds of the load, too. When the host is overloaded
 * twice in a row, profiling pauses until the load is ten points lower. No clock and no file here:
 * the caller has measured. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/profiling_keys.h"

struct sf_load_seen {  /* of one interval; shares in hundredths of a percent */
    uint32_t host;     /* of the host's CPU time: in use */
    uint32_t process;  /* of the CPU time that this process may have: used */
    uint32_t pressure; /* of the interval: a task waited for a CPU; 0: not known */
    uint64_t memory_len;
    uint64_t length_ns, process_ns, own_ns; /* own: profiling's part of process_ns */
};

struct sf_load {     /* a zeroed one is ready */
    double lowered;  /* of the base rate, what is taken away: 0 to 7/8 */
    unsigned n_over; /* intervals in a row in which the host was overloaded */
    bool is_paused;
};

/* One interval later. */
void sf_load_rule_step(struct sf_load *l, const struct sf_profiling *rules,
                       const struct sf_load_seen *seen);
/* The base rate is another one: what a lower one allows is not taken from it. */
void sf_load_rule_rebase(struct sf_load *l, double before, double after);
/* The share of the base rate to sample at: 1/8 to 1. */
double sf_load_rule_share(const struct sf_load *l);
