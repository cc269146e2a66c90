#include "collect/lib/cost_account.h"

#define STRETCH_NS ((int64_t)10000000000)
enum {
    IDLE_PARTS = 10,  /* a process is granted this part of a CPU */
    LUMP_PARTS = 1024 /* ten turns a second forget half of a lump in 71 s */
};

static void begin_stretch(struct sf_cost_account *a, int64_t time_ns, uint64_t process_ns)
{
    a->time_ns = time_ns;
    a->process_ns = process_ns;
    a->granted_ns = 0;
}

/* The CPU time for which the share was not yet paid in. */
static uint64_t take_granted(struct sf_cost_account *a, int64_t time_ns, uint64_t process_ns)
{
    uint64_t used_ns = process_ns > a->process_ns ? process_ns - a->process_ns : 0;
    uint64_t idle_ns = time_ns > a->time_ns ? (uint64_t)(time_ns - a->time_ns) / IDLE_PARTS : 0;
    uint64_t all_ns = used_ns > idle_ns ? used_ns : idle_ns, before_ns = a->granted_ns;
    if (all_ns <= before_ns)
        return 0;
    a->granted_ns = all_ns;
    return all_ns - before_ns;
}

void sf_cost_account_note(struct sf_cost_account *a, int64_t time_ns, uint64_t process_ns,
                          int64_t spent_ns, uint32_t budget_per_10000)
{
    int64_t paid_ns;
    if (!a->has_begun) {
        a->has_begun = true;
        a->balance_ns = SF_COST_START_NS;
        begin_stretch(a, time_ns, process_ns);
    }
    paid_ns = (int64_t)((double)take_granted(a, time_ns, process_ns) * budget_per_10000 / 10000);
    a->balance_ns += paid_ns - (spent_ns - a->spent_ns);
    a->balance_ns = a->balance_ns > SF_COST_SAVED_NS ? SF_COST_SAVED_NS : a->balance_ns;
    a->spent_ns = spent_ns;
    if (time_ns - a->time_ns >= STRETCH_NS)
        begin_stretch(a, time_ns, process_ns);
}

void sf_cost_account_skip(struct sf_cost_account *a, int64_t time_ns, uint64_t process_ns,
                          int64_t spent_ns)
{
    begin_stretch(a, time_ns, process_ns);
    a->spent_ns = spent_ns;
}

void sf_cost_account_note_lump(struct sf_cost_account *a, int64_t ns)
{
    a->lump_ns -= a->lump_ns / LUMP_PARTS;
    a->lump_ns = ns > a->lump_ns ? ns : a->lump_ns;
    a->lump_ns = a->lump_ns > SF_COST_LUMP_NS ? SF_COST_LUMP_NS : a->lump_ns;
}

/* What is left besides the profile that is due and the one that a pause or a changed rate ends. */
static int64_t free_balance(const struct sf_cost_account *a)
{
    return a->balance_ns - 2 * a->lump_ns;
}

enum sf_cost_level sf_cost_account_level(const struct sf_cost_account *a)
{
    int64_t ns = free_balance(a);
    return ns < SF_COST_PAUSE_NS     ? SF_COST_PAUSE
           : ns < SF_COST_LOWEST_NS  ? SF_COST_LOWEST
           : ns < SF_COST_RESERVE_NS ? SF_COST_LOW
                                     : SF_COST_FINE;
}

int64_t sf_cost_account_owed(const struct sf_cost_account *a)
{
    int64_t ns = SF_COST_RESERVE_NS - free_balance(a);
    return ns > 0 ? ns : 0;
}

int64_t sf_cost_account_credit(const struct sf_cost_account *a)
{
    return free_balance(a) - SF_COST_RESERVE_NS;
}
