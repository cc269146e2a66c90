/* symbol_budget.h - limits the CPU time for reading symbols.
 *
 * Reading names, lines and inlined calls of new code takes milliseconds to seconds of CPU time,
 * whatever the sampling rate is. So this work uses a credit: what samples and threads leave of the
 * budget for profiling is saved (cost_account.h), up to a quarter of a second, and spent on
 * reading. Files that exceed the credit are read later; until then code has its name from the
 * symbol table, or only its address. The caller measures; no clock is used here. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define SF_SYMBOL_CREDIT_MOST_NS ((int64_t)250000000)

struct sf_symbol_budget { /* a zeroed struct is the initial state */
    int64_t credit_ns;    /* negative: the last reading took longer than expected */
    uint64_t process_ns;  /* CPU time of the process when the credit was set */
};

void sf_symbol_budget_set(struct sf_symbol_budget *b, int64_t credit_ns, uint64_t process_ns);
void sf_symbol_budget_spend(struct sf_symbol_budget *b, uint64_t ns);

struct sf_symbol_price { /* of one file; zeroed: never read */
    int64_t lines_ns;    /* time that reading its debug information took, or will take at least */
    int64_t names_ns;    /* the same for its symbol table alone */
    uint64_t read_ns;    /* CPU time of the process when its debug information was last read */
    bool is_given_up;    /* reading its debug information costs more than the maximum credit */
};

/* Whether the file's debug information may be read: there is credit, and this file has not recently
 * used more than a quarter of the budget, or a fortieth if few samples would benefit. */
bool sf_symbol_budget_has_for_lines(const struct sf_symbol_budget *b,
                                    const struct sf_symbol_price *p, bool is_much);
bool sf_symbol_budget_has_for_names(const struct sf_symbol_budget *b,
                                    const struct sf_symbol_price *p);
/* Records that it was read for `ns`, with that credit before; `is_cut`: and that was not enough. */
void sf_symbol_budget_price_note(struct sf_symbol_price *p, int64_t credit_ns, uint64_t ns,
                                 bool is_cut, uint64_t process_ns);
