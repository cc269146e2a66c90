#include "collect/lib/load_rule.h"

#define FLOOR      (1.0 / SF_LOAD_FLOOR_PARTS)
#define DEBT_FLOOR 0.125 /* of the usual lowest share, while something is to be repaid */
#define STEP       0.25
enum {
    RESUME_BELOW = 1000, /* hundredths of a percent below the threshold */
    PAUSE_AFTER = 2      /* intervals */
};
static const unsigned most_halvings[SF_LOAD_EVENTS] = {[SF_LOAD_HEAP] = 10, [SF_LOAD_WAITS] = 16};
#define EVENT_PART 0.5 /* of the budget, for all samples of events; half of it is for each kind */
#define EVENT_AGAIN                                                                             \
    0.8               /* of its part, which twice the rate must not exceed for the rate to rise \
                       */
#define IDLE_CPUS 0.1 /* a program that uses less is treated as using this much of a CPU */

enum { EARLY_CHECKS = 3 };
#define EARLY_NS ((int64_t)1000000000) /* until the first check; the time doubles with each */

void sf_load_rule_restart(struct sf_load_times *t, int64_t now_ns)
{
    t->n_early = 0;
    t->early_ns = now_ns + EARLY_NS;
    if (t->interval_ns < t->early_ns) /* a moment after a change tells little */
        t->interval_ns = t->early_ns;
}

enum sf_load_due sf_load_rule_due(struct sf_load_times *t, int64_t now_ns, int64_t interval_ns)
{
    bool is_end = now_ns >= t->interval_ns, is_first = !t->interval_ns;
    if (!is_end && (t->n_early >= EARLY_CHECKS || now_ns < t->early_ns))
        return SF_LOAD_NOT_DUE;
    if (is_first)
        sf_load_rule_restart(t, now_ns);
    else if (t->n_early < EARLY_CHECKS) /* the end of an interval is a check, too */
        t->early_ns = now_ns + (EARLY_NS << ++t->n_early);
    if (is_end)
        t->interval_ns = now_ns + interval_ns;
    return is_end ? SF_LOAD_INTERVAL : SF_LOAD_EARLY;
}

double sf_load_rule_share(const struct sf_load *l)
{
    return 1 - l->lowered;
}

static double lowest_share(const struct sf_load *l)
{
    return l->floor > 0 ? l->floor : FLOOR;
}

static double least_share(const struct sf_load *l, const struct sf_load_seen *seen)
{
    return seen->repay > 0 ? lowest_share(l) * DEBT_FLOOR : lowest_share(l);
}

static double event_limit(unsigned halvings)
{
    return 1.0 / (1u << halvings);
}

double sf_load_rule_event_share(const struct sf_load *l, enum sf_load_event event)
{
    double share = sf_load_rule_share(l) / lowest_share(l) * FLOOR; /* of the configured rate */
    double limit = event_limit(l->halvings[event]);
    return share < limit ? share : limit;
}

void sf_load_rule_rebase(struct sf_load *l, double before, double after)
{
    double share = after < before ? sf_load_rule_share(l) * before / after : 0;
    if (after < before)
        l->lowered = share < 1 ? 1 - share : 0;
}

static void shed(struct sf_load *l, const struct sf_profiling *rules,
                 const struct sf_load_seen *seen)
{
    uint32_t over = rules->shedding_cpu_per_10000;
    uint32_t resume = over > RESUME_BELOW ? over - RESUME_BELOW : over;
    if (!rules->has_shedding) {
        l->is_paused = false;
        l->n_over = 0;
        return;
    }
    l->n_over = seen->host >= over ? l->n_over + 1 : 0;
    if (l->n_over >= PAUSE_AFTER)
        l->is_paused = true;
    else if (seen->host < resume)
        l->is_paused = false;
}

static bool is_loaded(const struct sf_profiling *rules, const struct sf_load_seen *seen)
{
    uint32_t cpu = seen->host > seen->process ? seen->host : seen->process;
    cpu = seen->pressure > cpu ? seen->pressure : cpu;
    return cpu >= rules->adaptive_cpu_per_10000 ||
           (rules->adaptive_memory_len && seen->memory_len >= rules->adaptive_memory_len);
}

/* The rate that the budget allows comes in steps of half the lowest one: it stays. Below that, each
 * step is half of the one before. */
static double steps(const struct sf_load *l, double share)
{
    double step = lowest_share(l) / 2, least = lowest_share(l) * DEBT_FLOOR;
    if (share >= step)
        return (double)(int)(share / step) * step;
    while (step > least && step > share)
        step /= 2;
    return step;
}

void sf_load_rule_cap(struct sf_load *l, double share)
{
    double most = share < lowest_share(l) ? lowest_share(l) : share < 1 ? steps(l, share) : 1;
    if (sf_load_rule_share(l) > most)
        l->lowered = 1 - most;
}

void sf_load_rule_set_debt(struct sf_load *l, bool is_in_debt)
{
    if (l->is_in_debt && !is_in_debt)
        l->lowered = 1 - lowest_share(l) * DEBT_FLOOR;
    l->is_in_debt = is_in_debt;
}

/* Sets the limit of an event's share. Returns the part of `event_ns`, what its samples took in the
 * interval that ended, which they will not take with the new limit. */
static double limit_event(struct sf_load *l, enum sf_load_event event, double event_ns,
                          double most_ns, bool is_early)
{
    double share = sf_load_rule_event_share(l, event), full_ns = event_ns / share, saved_ns;
    unsigned now = l->halvings[event], next = now && !is_early ? now - 1 : now;
    if (next < now && full_ns * event_limit(next) > most_ns * EVENT_AGAIN)
        next = now;
    while (next < most_halvings[event] && full_ns * event_limit(next) > most_ns)
        next++;
    l->halvings[event] = next;
    saved_ns = full_ns * (share - sf_load_rule_event_share(l, event));
    return saved_ns > 0 ? saved_ns : 0;
}

/* The same for both events. Returns what they will not take any more. */
static double limit_events(struct sf_load *l, const struct sf_load_seen *seen, double budget_ns,
                           bool is_early)
{
    double all_ns = budget_ns * EVENT_PART, saved_ns = 0;
    double takes_ns[SF_LOAD_EVENTS] = {(double)seen->events_ns[SF_LOAD_HEAP],
                                       (double)seen->events_ns[SF_LOAD_WAITS]};
    for (int event = 0; event < SF_LOAD_EVENTS; event++) {
        double left_ns = all_ns - takes_ns[SF_LOAD_EVENTS - 1 - event];
        double saves_ns = limit_event(l, (enum sf_load_event)event, takes_ns[event],
                                      left_ns > all_ns / 2 ? left_ns : all_ns / 2, is_early);
        takes_ns[event] -= saves_ns;
        saved_ns += saves_ns;
    }
    return saved_ns;
}

static double budget_of(const struct sf_profiling *rules, const struct sf_load_seen *seen)
{
    double used_ns = (double)seen->process_ns, idle_ns = (double)seen->length_ns * IDLE_CPUS;
    double all_ns = (used_ns > idle_ns ? used_ns : idle_ns) * rules->adaptive_budget_per_10000 /
                    10000;
    return all_ns * (1 - seen->repay);
}

bool sf_load_rule_is_burst(const struct sf_profiling *rules, uint64_t events_ns,
                           uint64_t process_ns)
{
    struct sf_load_seen whole = {.length_ns = (uint64_t)rules->adaptive_interval_ns,
                                 .process_ns = process_ns};
    return (double)events_ns > budget_of(rules, &whole) * EVENT_PART;
}

/* The share that the budget allows. The cost of threads may be constant or proportional to the
 * rate; the lower share of both cases is taken. */
static double allowed_of(double share, double own_ns, double threads_ns, double budget_ns)
{
    double whole = own_ns > 0 ? share * budget_ns / own_ns : share + STEP;
    double samples_ns = own_ns - threads_ns, left_ns = budget_ns - threads_ns;
    double part = left_ns < 0 ? 0 : samples_ns > 0 ? share * left_ns / samples_ns : whole;
    return part < whole ? part : whole;
}

static void budget_step(struct sf_load *l, const struct sf_profiling *rules,
                        const struct sf_load_seen *seen, bool is_early)
{
    double share = sf_load_rule_share(l), next, allowed, budget_ns = budget_of(rules, seen);
    double own_ns = (double)seen->own_ns - limit_events(l, seen, budget_ns, is_early);
    double least = least_share(l, seen);
    allowed = allowed_of(share, own_ns, (double)seen->threads_ns, budget_ns);
    if ((!is_early && rules->is_adaptive && is_loaded(rules, seen)) || own_ns > budget_ns)
        next = share / 2;
    else
        next = is_early ? share : share + STEP;
    if (next > allowed)
        next = steps(l, allowed);
    least = is_early && share < least ? share : least; /* it only lowers rates */
    next = next > 1 ? 1 : next < least ? least : next;
    l->lowered = 1 - next;
}

void sf_load_rule_step_early(struct sf_load *l, const struct sf_profiling *rules,
                             const struct sf_load_seen *seen)
{
    if (!l->is_paused && !l->is_in_debt)
        budget_step(l, rules, seen, true);
}

void sf_load_rule_step_burst(struct sf_load *l, const struct sf_profiling *rules,
                             const struct sf_load_seen *seen)
{
    if (!l->is_paused && !l->is_in_debt)
        limit_events(l, seen, budget_of(rules, seen), true);
}

void sf_load_rule_step(struct sf_load *l, const struct sf_profiling *rules,
                       const struct sf_load_seen *seen)
{
    shed(l, rules, seen);
    if (!l->is_paused && !l->is_in_debt) /* otherwise no sample is taken: its cost is unknown */
        budget_step(l, rules, seen, false);
}
