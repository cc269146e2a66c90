#include "collect/lib/symbol_budget.h"

enum {
    MUCH_PARTS = 400, /* reading one file may take 1/400 of the CPU time */
    LITTLE_PARTS = 4000,
    FIRST_LINES_NS = 3000000, /* assumed cost of a file that was never read */
    FIRST_NAMES_NS = 300000
};

void sf_symbol_budget_set(struct sf_symbol_budget *b, int64_t credit_ns, uint64_t process_ns)
{
    b->credit_ns = credit_ns > SF_SYMBOL_CREDIT_MOST_NS ? SF_SYMBOL_CREDIT_MOST_NS : credit_ns;
    b->process_ns = process_ns;
}

void sf_symbol_budget_spend(struct sf_symbol_budget *b, uint64_t ns)
{
    b->credit_ns -= (int64_t)ns;
}

static bool symbol_budget_has(const struct sf_symbol_budget *b, int64_t ns, int64_t first_ns)
{
    ns = ns ? ns + ns / 4 : first_ns;
    return b->credit_ns >= (ns < SF_SYMBOL_CREDIT_MOST_NS ? ns : SF_SYMBOL_CREDIT_MOST_NS);
}

bool sf_symbol_budget_has_for_lines(const struct sf_symbol_budget *b,
                                    const struct sf_symbol_price *p, bool is_much)
{
    uint64_t wait_ns = (uint64_t)p->lines_ns * (is_much ? MUCH_PARTS : LITTLE_PARTS);
    return !p->is_given_up && (!p->read_ns || b->process_ns - p->read_ns >= wait_ns) &&
           symbol_budget_has(b, p->lines_ns, FIRST_LINES_NS);
}

bool sf_symbol_budget_has_for_names(const struct sf_symbol_budget *b,
                                    const struct sf_symbol_price *p)
{
    return symbol_budget_has(b, p->names_ns, FIRST_NAMES_NS);
}

void sf_symbol_budget_price_note(struct sf_symbol_price *p, int64_t credit_ns, uint64_t ns,
                                 bool is_cut, uint64_t process_ns)
{
    p->is_given_up = is_cut && credit_ns >= SF_SYMBOL_CREDIT_MOST_NS;
    p->lines_ns = is_cut ? 2 * credit_ns : (int64_t)ns;
    p->read_ns = is_cut ? 0 : process_ns;
}
