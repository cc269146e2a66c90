/* symbol_budget.h - how much CPU time the reading of symbols may take now.
 *
 * Names, lines and inlined calls cost a process milliseconds to seconds when code shows up that was
 * not seen before, whatever the sampling rate is. So this work lives on credit: the program's CPU
 * time earns the budget for profiling (1 %), of which samples and threads take their part first;
 * what is left is saved, up to a quarter of a second, and spent on reading. A process begins with a
 * small credit for its first profile. What cannot be paid for is put off: code has the name of the
 * symbol table meanwhile, or its address. No clock here: the caller has measured. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define SF_SYMBOL_CREDIT_FIRST_NS ((int64_t)50000000)
#define SF_SYMBOL_CREDIT_MOST_NS  ((int64_t)250000000)

struct sf_symbol_budget { /* a zeroed one is ready */
    bool has_begun;
    int64_t credit_ns;   /* below 0: the last reading took longer than expected */
    uint64_t process_ns; /* CPU time of the process up to which it has earned */
    uint64_t other_ns;   /* of profiling without symbols, likewise */
};

/* Now: CPU time of the process so far, and of profiling but for symbols. */
void sf_symbol_budget_earn(struct sf_symbol_budget *b, uint32_t budget_per_10000,
                           uint64_t process_ns, uint64_t other_ns);
void sf_symbol_budget_spend(struct sf_symbol_budget *b, uint64_t ns);

struct sf_symbol_price { /* of one file; a zeroed one was never read */
    int64_t lines_ns;    /* what reading its debug information took, or will take at least */
    int64_t names_ns;    /* likewise of its symbol table alone */
    uint64_t read_ns;    /* CPU time of the process when its debug information was last read */
    bool is_given_up;    /* its debug information takes more than there can be credit for */
};

/* Whether the file's debug information may be read: there is credit, and this file did not take
 * more than a quarter of the budget lately, or a fortieth when few samples would gain by it. */
bool sf_symbol_budget_has_for_lines(const struct sf_symbol_budget *b,
                                    const struct sf_symbol_price *p, bool is_much);
bool sf_symbol_budget_has_for_names(const struct sf_symbol_budget *b,
                                    const struct sf_symbol_price *p);
/* It was read for `ns`, with so much credit before; `is_cut`: and that was not enough. */
void sf_symbol_budget_price_note(struct sf_symbol_price *p, int64_t credit_ns, uint64_t ns,
                                 bool is_cut, uint64_t process_ns);
