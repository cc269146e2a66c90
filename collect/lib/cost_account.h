/* cost_account.h - what profiling may cost from the start of the process on.
 *
 * Profiling may use a share of the CPU time of its process (the budget, 1 %), and SF_COST_START_NS
 * once, for its start. This account holds what is left of both: the share is paid in as the process
 * runs, and all that profiling takes is paid out, samples, the library's threads and reading of
 * symbols. So while the balance is not negative, in every time from the start of the process on
 *
 *     own cost <= budget * CPU time of the process + SF_COST_START_NS
 *
 * What was overspent in one second is missing in the next ones: the levels below say what is to be
 * done to get it back. They lie above zero, because samples are seen after they were taken, and
 * because sending a profile is done at once: as much as the last ones took, up to SF_COST_LUMP_NS,
 * is kept back for the next one and for the one that ends with a changed rate or a pause.
 *
 * A process that uses less than a tenth of a CPU in a stretch of 10 s is treated as one that uses a
 * tenth: else the library's threads alone would exceed the share. At most SF_COST_SAVED_NS is
 * saved, so that an idle hour does not pay for a busy minute; only reading symbols may use what is
 * saved. The caller measures; no clock is used here. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define SF_COST_START_NS ((int64_t)50000000)
/* What samples need in reserve: symbols are read with what is above it, and below it the rates are
 * lowered. */
#define SF_COST_RESERVE_NS ((int64_t)15000000)
#define SF_COST_LOWEST_NS  ((int64_t)10000000) /* below: rates at their lowest */
#define SF_COST_PAUSE_NS   ((int64_t)5000000) /* below: profiling pauses, up to the reserve again */
#define SF_COST_LUMP_NS    ((int64_t)15000000)
#define SF_COST_SAVED_NS   ((int64_t)295000000)

struct sf_cost_account { /* a zeroed struct is the initial state */
    bool has_begun;
    int64_t balance_ns;
    int64_t time_ns;                 /* monotonic; the stretch began */
    uint64_t process_ns, granted_ns; /* CPU time at that time, and used since then or granted */
    int64_t spent_ns;                /* up to which it was paid */
    int64_t lump_ns;                 /* what work that is done at once lately took at most */
};

/* The CPU time of the process and what profiling has taken of it, both since the process started.
 * The second can shrink: a thread that is ending is briefly counted twice. */
void sf_cost_account_note(struct sf_cost_account *a, int64_t time_ns, uint64_t process_ns,
                          int64_t spent_ns, uint32_t budget_per_10000);
/* The same where neither counts: another account has the time, or no profile has a budget. */
void sf_cost_account_skip(struct sf_cost_account *a, int64_t time_ns, uint64_t process_ns,
                          int64_t spent_ns);
/* The library's threads took so much since the last call, without symbols. */
void sf_cost_account_note_lump(struct sf_cost_account *a, int64_t ns);

enum sf_cost_level { /* what the balance requires */
                     SF_COST_FINE,
                     SF_COST_LOW,    /* lower the rates by what is missing */
                     SF_COST_LOWEST, /* lower them as far as possible */
                     SF_COST_PAUSE
};
enum sf_cost_level sf_cost_account_level(const struct sf_cost_account *a);
/* What is missing in the reserve; 0: nothing. */
int64_t sf_cost_account_owed(const struct sf_cost_account *a);
/* What reading symbols may take now; may be negative. */
int64_t sf_cost_account_credit(const struct sf_cost_account *a);
