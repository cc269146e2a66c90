#include "collect/lib/budget_guard.h"

#include "base/time_unit.h"

enum {
    FIRST_PRICE_NS = 60000, /* own_cost_truth measures 42 to 69 us in virtual machines */
    PRICED_SIGNALS = 16     /* so many have a mean */
};
#define IDLE_CPUS 0.1 /* as in the account */

static uint32_t budget_guard_budget(const struct sf_budget_terms *terms)
{
    uint32_t usual = terms->budget_per_10000;
    return terms->is_capturing && usual < SF_CAPTURE_BUDGET ? SF_CAPTURE_BUDGET : usual;
}

/* What samples and threads may take of it: the rest is for symbols, and a margin, because prices
 * are estimates. */
static uint32_t samples_budget(const struct sf_budget_terms *terms)
{
    uint32_t budget = budget_guard_budget(terms);
    return budget - budget / SF_LOAD_BUDGET_PARTS;
}

static struct sf_cost_account *current_account(struct sf_budget_guard *g)
{
    return g->is_capturing ? &g->capture : &g->account;
}

static int64_t spent(const struct sf_budget_guard *g, const struct sf_cost_reading *r)
{
    return (int64_t)r->own_ns - (int64_t)r->asked_ns - g->unpaced_ns;
}

/* The budget has lowered the rate for samples that are taken all the time; a capture begins at the
 * rate that was requested for it. Afterwards the lowered rate applies again. */
static void switch_account(struct sf_budget_guard *g, const struct sf_budget_terms *terms)
{
    if (terms->is_capturing) {
        g->lowered = g->load.lowered;
        g->usual_hz = g->base_hz;
        if (!terms->rules->is_adaptive) /* then the load may have lowered it */
            g->load.lowered = 0;
        g->capture = (struct sf_cost_account){.spent_ns = g->account.spent_ns,
                                              .lump_ns = g->account.lump_ns};
    } else {
        g->load.lowered = g->lowered;
        g->base_hz = g->usual_hz;
    }
    g->is_capturing = terms->is_capturing;
    g->load.is_in_debt = false;
    g->level = SF_COST_FINE;
    g->last = g->noted; /* its cost begins now */
}

static int64_t lump_since(const struct sf_cost_reading *a, const struct sf_cost_reading *b)
{
    int64_t asked_ns = (int64_t)(b->asked_ns - a->asked_ns);
    return a->time_ns ? (int64_t)(b->threads_ns - a->threads_ns) - asked_ns : 0;
}

/* What was taken until now belongs to the account that was in effect. */
void sf_budget_guard_note(struct sf_budget_guard *g, const struct sf_budget_terms *terms,
                          const struct sf_cost_reading *now)
{
    struct sf_budget_terms before = *terms;
    before.is_capturing = g->is_capturing;
    for (int event = 0; event < SF_LOAD_EVENTS; event++) {
        if (!(terms->paced >> event & 1))
            g->unpaced_ns += (int64_t)(now->events_ns[event] - g->noted.events_ns[event]);
    }
    sf_cost_account_note_lump(current_account(g), lump_since(&g->noted, now));
    g->noted = *now;
    sf_cost_account_note(current_account(g), now->time_ns, now->process_ns, spent(g, now),
                         budget_guard_budget(&before));
    if (g->is_capturing)
        sf_cost_account_skip(&g->account, now->time_ns, now->process_ns, spent(g, now));
    if (terms->is_capturing != g->is_capturing) {
        switch_account(g, terms);
        if (g->is_capturing)
            sf_cost_account_note(&g->capture, now->time_ns, now->process_ns, spent(g, now),
                                 budget_guard_budget(terms));
    }
}

void sf_budget_guard_skip(struct sf_budget_guard *g, const struct sf_cost_reading *now)
{
    g->noted = *now;
    g->last = (struct sf_cost_reading){0};
    g->times = (struct sf_load_times){0};
    sf_cost_account_skip(&g->account, now->time_ns, now->process_ns, spent(g, now));
}

/* An eighth of the configured rate, as a part of a raised one; 0: the rate is not raised. */
static double floor_of(uint64_t configured_hz, uint64_t base_hz)
{
    return configured_hz && base_hz > configured_hz
               ? (double)configured_hz / (double)base_hz / SF_LOAD_FLOOR_PARTS
               : 0;
}

/* The share of the rate that the budget allows at the known price. */
static double share_by_price(const struct sf_budget_guard *g, const struct sf_budget_terms *terms)
{
    double price_ns = g->price_ns > 0 ? g->price_ns : FIRST_PRICE_NS;
    double most_hz = (double)SF_NS_PER_S * samples_budget(terms) / 10000 / price_ns;
    return g->cpu_hz ? most_hz / (double)g->cpu_hz : 1;
}

void sf_budget_guard_rates(struct sf_budget_guard *g, const struct sf_budget_terms *terms,
                           uint64_t cpu_hz, uint64_t wall_hz, uint64_t configured_hz)
{
    uint64_t base_hz = cpu_hz + wall_hz, before_hz = g->base_hz;
    sf_load_rule_rebase(&g->load, (double)before_hz, (double)base_hz);
    g->load.floor = floor_of(configured_hz, base_hz);
    g->cpu_hz = cpu_hz;
    if (base_hz > before_hz)
        sf_load_rule_cap(&g->load, share_by_price(g, terms));
    if (before_hz && base_hz > before_hz && g->last.time_ns && !terms->is_capturing) {
        sf_load_rule_restart(&g->times, g->noted.time_ns);
        g->last = g->noted;
    }
    g->base_hz = base_hz;
}

/* ---- decisions ---- */

static bool is_burst(const struct sf_budget_guard *g, const struct sf_budget_terms *terms)
{
    struct sf_profiling rules = *terms->rules;
    uint64_t sum_ns = 0;
    rules.adaptive_budget_per_10000 = samples_budget(terms);
    for (int event = 0; event < SF_LOAD_EVENTS; event++)
        sum_ns += terms->paced >> event & 1 ? g->noted.events_ns[event] - g->last.events_ns[event]
                                            : 0;
    return g->last.time_ns && terms->has_bursts &&
           sf_load_rule_is_burst(&rules, sum_ns, g->used_ns);
}

enum sf_load_due sf_budget_guard_due(struct sf_budget_guard *g, const struct sf_budget_terms *terms)
{
    enum sf_load_due due = sf_load_rule_due(&g->times, g->noted.time_ns,
                                            terms->rules->adaptive_interval_ns);
    enum sf_cost_level level = sf_cost_account_level(current_account(g));
    if (due == SF_LOAD_INTERVAL || level > g->level ||
        (level == SF_COST_FINE && g->load.is_in_debt))
        return due == SF_LOAD_INTERVAL ? due : SF_LOAD_BURST;
    if (level == SF_COST_FINE)
        g->level = level;
    if (due == SF_LOAD_EARLY && !terms->is_capturing)
        return due;
    return is_burst(g, terms) ? SF_LOAD_BURST : SF_LOAD_NOT_DUE;
}

/* A thread that is ending is briefly counted twice, so a sum can decrease. */
static uint64_t cost_since(uint64_t before_ns, uint64_t now_ns)
{
    return now_ns > before_ns ? now_ns - before_ns : 0;
}

/* Symbols have a limit of their own: the credit. */
static void compare_cost(struct sf_load_seen *seen, const struct sf_budget_terms *terms,
                         const struct sf_cost_reading *a, const struct sf_cost_reading *b)
{
    seen->length_ns = (uint64_t)(b->time_ns - a->time_ns);
    seen->process_ns = b->process_ns - a->process_ns;
    seen->own_ns = cost_since(a->own_ns - a->symbols_ns, b->own_ns - b->symbols_ns);
    seen->threads_ns = cost_since(a->threads_ns, b->threads_ns);
    for (int event = 0; event < SF_LOAD_EVENTS; event++)
        seen->events_ns[event] = terms->paced >> event & 1
                                     ? b->events_ns[event] - a->events_ns[event]
                                     : 0;
}

/* All that is missing is to be repaid in the next interval, if the process goes on as in the last
 * one and since then. */
static double part_to_repay(struct sf_budget_guard *g, const struct sf_budget_terms *terms,
                            const struct sf_load_seen *seen)
{
    double owed_ns = (double)sf_cost_account_owed(current_account(g));
    double interval_ns = (double)terms->rules->adaptive_interval_ns, income_ns;
    double cpus = seen->length_ns ? (double)seen->process_ns / (double)seen->length_ns : 0;
    if (g->used_ns && (double)g->used_ns / interval_ns < cpus)
        cpus = (double)g->used_ns / interval_ns;
    income_ns = interval_ns * (cpus > IDLE_CPUS ? cpus : IDLE_CPUS) * samples_budget(terms) / 10000;
    if (owed_ns <= 0)
        return 0;
    return g->level >= SF_COST_LOWEST || owed_ns >= income_ns ? 1 : owed_ns / income_ns;
}

static void note_price(struct sf_budget_guard *g)
{
    uint64_t n = g->noted.n_signals - g->last.n_signals;
    if (n >= PRICED_SIGNALS)
        g->price_ns = (double)(g->noted.signals_ns - g->last.signals_ns) / (double)n;
}

/* A higher rate ends a window, and so does a lower one after it: not if that could not be paid. */
static void step_interval(struct sf_budget_guard *g, const struct sf_profiling *rules,
                          const struct sf_load_seen *seen)
{
    const struct sf_cost_account *a = current_account(g);
    double before = g->load.lowered;
    sf_load_rule_step(&g->load, rules, seen);
    if (g->load.lowered < before && sf_cost_account_credit(a) < 2 * a->lump_ns)
        g->load.lowered = before;
}

static void note_level(struct sf_budget_guard *g)
{
    g->level = sf_cost_account_level(current_account(g));
    if (g->level == SF_COST_PAUSE || g->level == SF_COST_FINE)
        sf_load_rule_set_debt(&g->load, g->level == SF_COST_PAUSE);
}

void sf_budget_guard_step(struct sf_budget_guard *g, const struct sf_budget_terms *terms,
                          enum sf_load_due due, const struct sf_load_seen *load)
{
    struct sf_profiling rules = *terms->rules;
    struct sf_load_seen seen = load ? *load : (struct sf_load_seen){0};
    enum sf_cost_level before = g->level;
    bool is_first = !g->last.time_ns;
    rules.adaptive_budget_per_10000 = samples_budget(terms);
    compare_cost(&seen, terms, &g->last, &g->noted);
    note_level(g);
    seen.repay = part_to_repay(g, terms, &seen);
    if (is_first)
        ; /* what happened before is unknown */
    else if (due == SF_LOAD_INTERVAL && load)
        step_interval(g, &rules, &seen);
    else if (due == SF_LOAD_EARLY || g->level > before)
        sf_load_rule_step_early(&g->load, &rules, &seen);
    else
        sf_load_rule_step_burst(&g->load, &rules, &seen);
    if (due == SF_LOAD_INTERVAL)
        g->used_ns = load ? load->process_ns : 0;
    note_price(g);
    sf_load_rule_cap(&g->load, share_by_price(g, terms));
    g->last = g->noted;
}

int64_t sf_budget_guard_credit(const struct sf_budget_guard *g)
{
    return sf_cost_account_credit(g->is_capturing ? &g->capture : &g->account);
}
