#include "store/local/budget.h"

#include "base/account.h"
#include "base/invariant.h"
#include "base/limits.h"

/* Shares of the memory budget in 1/256, which is 1 MB with the default budget of 256 MB. */
static const unsigned shares[SF_LINES] = {
    [SF_LINE_MEMTABLES] = 16, [SF_LINE_PARTS] = 40,   [SF_LINE_DUPLICATES] = 8,
    [SF_LINE_MERGE] = 24,     [SF_LINE_QUERIES] = 48, [SF_LINE_READERS] = 16,
    [SF_LINE_PROFILES] = 40,  [SF_LINE_PARTIALS] = 8,
};

void sf_budget_init(struct sf_budget *b, size_t memory_len)
{
    size_t unit = (memory_len ? memory_len : SF_LIMIT_MEMORY_LEN) / 256;
    b->log_len = 16 * unit < SF_LIMIT_BODIES_LEN ? 16 * unit : SF_LIMIT_BODIES_LEN;
    for (unsigned i = 0; i < SF_LINES; i++) {
        atomic_init(&b->used[i], 0);
        atomic_init(&b->most[i], 0);
        b->cap[i] = unit * shares[i];
    }
}

void sf_budget_add(struct sf_budget *b, enum sf_budget_line line, size_t len)
{
    size_t now = atomic_fetch_add_explicit(&b->used[line], len, memory_order_relaxed) + len;
    size_t most = atomic_load_explicit(&b->most[line], memory_order_relaxed);
    while (now > most &&
           !atomic_compare_exchange_weak_explicit(&b->most[line], &most, now, memory_order_relaxed,
                                                  memory_order_relaxed)) {
        /* another thread changed the value: try again */
    }
}

void sf_budget_sub(struct sf_budget *b, enum sf_budget_line line, size_t len)
{
    size_t was = atomic_fetch_sub_explicit(&b->used[line], len, memory_order_relaxed);
    SF_ASSERT(was >= len);
}

size_t sf_budget_used(const struct sf_budget *b, enum sf_budget_line line)
{
    return atomic_load_explicit(&b->used[line], memory_order_relaxed);
}

size_t sf_budget_most(const struct sf_budget *b, enum sf_budget_line line)
{
    return atomic_load_explicit(&b->most[line], memory_order_relaxed);
}

/* When the limit is reached, not every query fails, or one large query would end all small ones:
 * only a query that holds more than a quarter is stopped. New queries are refused meanwhile. */
enum sf_err sf_budget_query(struct sf_budget *b, size_t *io_counted, size_t len, struct sf_why *why)
{
    if (len > *io_counted)
        sf_budget_add(b, SF_LINE_QUERIES, len - *io_counted);
    else
        sf_budget_sub(b, SF_LINE_QUERIES, *io_counted - len);
    *io_counted = len;
    if (len <= b->cap[SF_LINE_QUERIES] / 4 || !sf_budget_is_over(b, SF_LINE_QUERIES))
        return SF_OK;
    if (len <= b->cap[SF_LINE_QUERIES] && sf_account_is_open())
        return SF_OK; /* the total of all queries is limited by the memory account instead */
    if (len <= b->cap[SF_LINE_QUERIES])
        return sf_fail(why, SF_ERR_BUSY,
                       "query: uses %zu KB, and all queries together more than their limit of "
                       "%zu KB; retry",
                       len >> 10, b->cap[SF_LINE_QUERIES] >> 10);
    return sf_fail(why, SF_ERR_LIMIT,
                   "query: needs %zu KB, and all queries together may use %zu KB; narrow the "
                   "time range, or raise the setting \"memory\"",
                   len >> 10, b->cap[SF_LINE_QUERIES] >> 10);
}

bool sf_budget_is_over(const struct sf_budget *b, enum sf_budget_line line)
{
    return sf_budget_used(b, line) > b->cap[line];
}

size_t sf_budget_sum(const struct sf_budget *b)
{
    size_t sum = 0;
    for (unsigned i = 0; i < SF_LINES; i++)
        sum += sf_budget_used(b, (enum sf_budget_line)i);
    return sum;
}

size_t sf_budget_cap(const struct sf_budget *b)
{
    size_t sum = 0;
    for (unsigned i = 0; i < SF_LINES; i++)
        sum += b->cap[i];
    return sum;
}
