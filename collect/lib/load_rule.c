#include "collect/lib/load_rule.h"

#define FLOOR 0.125
#define STEP  0.25
enum {
    RESUME_BELOW = 1000, /* hundredths of a percent below the threshold */
    PAUSE_AFTER = 2,     /* intervals */
    MOST_HALVINGS = 10   /* of the heap's rate */
};
#define HEAP_PART 0.5 /* of the budget, for heap samples */
#define HEAP_AGAIN                                                                               \
    0.8               /* of that part, which twice the rate must not exceed for the rate to rise \
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

static double heap_limit(unsigned halvings)
{
    return 1.0 / (1u << halvings);
}

double sf_load_rule_heap_share(const struct sf_load *l)
{
    double share = sf_load_rule_share(l) / lowest_share(l) * FLOOR; /* of the configured rate */
    double limit = heap_limit(l->heap_halvings);
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

/* The rate that the budget allows comes in steps of half the lowest one: it stays. */
static double steps(const struct sf_load *l, double share)
{
    double step = lowest_share(l) / 2;
    return (double)(int)(share / step) * step;
}

/* Sets the limit of the heap's share. Returns the part of `heap_ns`, what heap samples took in the
 * interval that ended, which they will not take with the new limit. */
static double limit_heap(struct sf_load *l, double heap_ns, double most_ns)
{
    double share = sf_load_rule_heap_share(l), full_ns = heap_ns / share, saved_ns;
    unsigned now = l->heap_halvings, next = now ? now - 1 : 0;
    if (next < now && full_ns * heap_limit(next) > most_ns * HEAP_AGAIN)
        next = now;
    while (next < MOST_HALVINGS && full_ns * heap_limit(next) > most_ns)
        next++;
    l->heap_halvings = next;
    saved_ns = full_ns * (share - sf_load_rule_heap_share(l));
    return saved_ns > 0 ? saved_ns : 0;
}

static double budget_of(const struct sf_profiling *rules, const struct sf_load_seen *seen)
{
    double used_ns = (double)seen->process_ns, idle_ns = (double)seen->length_ns * IDLE_CPUS;
    return (used_ns > idle_ns ? used_ns : idle_ns) * rules->adaptive_budget_per_10000 / 10000;
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
    double own_ns = (double)seen->own_ns;
    unsigned halvings = l->heap_halvings;

    own_ns -= limit_heap(l, (double)seen->heap_ns, budget_ns * HEAP_PART);
    if (is_early && l->heap_halvings < halvings)
        l->heap_halvings = halvings;
    allowed = allowed_of(share, own_ns, (double)seen->threads_ns, budget_ns);
    if ((!is_early && rules->is_adaptive && is_loaded(rules, seen)) || own_ns > budget_ns)
        next = share / 2;
    else
        next = is_early ? share : share + STEP;
    if (next > allowed)
        next = steps(l, allowed);
    next = next > 1 ? 1 : next < lowest_share(l) ? lowest_share(l) : next;
    l->lowered = 1 - next;
}

void sf_load_rule_step_early(struct sf_load *l, const struct sf_profiling *rules,
                             const struct sf_load_seen *seen)
{
    if (!l->is_paused)
        budget_step(l, rules, seen, true);
}

void sf_load_rule_step(struct sf_load *l, const struct sf_profiling *rules,
                       const struct sf_load_seen *seen)
{
    shed(l, rules, seen);
    if (!l->is_paused) /* otherwise no samples are taken, so their cost is unknown */
        budget_step(l, rules, seen, false);
}
