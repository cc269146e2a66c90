/* budget.h - the store's part of the memory budget, divided into lines that are counted, capped and
 * reported.
 *
 * Every buffer of the engine that grows with load is counted against one line. If a line is over
 * its cap, the caller returns BUSY or LIMIT, so that the process never runs out of memory.
 * Thread-safe. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum sf_budget_line {
    SF_LINE_MEMTABLES,
    SF_LINE_PARTS,
    SF_LINE_PROFILES, /* profiles since the last flush, with their stack trees */
    SF_LINE_DUPLICATES,
    SF_LINE_MERGE, /* flush and compaction */
    SF_LINE_QUERIES,
    SF_LINE_READERS,  /* tables of open blocks */
    SF_LINE_PARTIALS, /* cached partial results of granules: read/partials.h */
    SF_LINES
};

struct sf_budget {
    size_t log_len; /* bytes that may wait for the log; the log counts them */
    atomic_size_t used[SF_LINES];
    atomic_size_t most[SF_LINES]; /* maximum of `used` since the start */
    size_t cap[SF_LINES];
};

/* Divides the server's budget into lines, in the proportions of docs/architecture.md. */
void sf_budget_init(struct sf_budget *b, size_t memory_len);
void sf_budget_add(struct sf_budget *b, enum sf_budget_line line, size_t len);
void sf_budget_sub(struct sf_budget *b, enum sf_budget_line line, size_t len);
/* The memory of one query changed from `*io_counted` to `len` bytes. While all queries together
 * exceed their limit, a query that holds more than a quarter of it is stopped: BUSY if others hold
 * the rest, LIMIT if it would never fit. It is counted either way, until the query releases it. */
enum sf_err sf_budget_query(struct sf_budget *b, size_t *io_counted, size_t len,
                            struct sf_why *why);
size_t sf_budget_used(const struct sf_budget *b, enum sf_budget_line line);
size_t sf_budget_most(const struct sf_budget *b, enum sf_budget_line line);
bool sf_budget_is_over(const struct sf_budget *b, enum sf_budget_line line);
size_t sf_budget_sum(const struct sf_budget *b);
size_t sf_budget_cap(const struct sf_budget *b);
