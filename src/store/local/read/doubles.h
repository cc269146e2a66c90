/* doubles.h - traces with a span that is there twice, remembered for pairs of blocks.
 *
 * Who looks at spans one by one must know which traces have a span in two runs. Between two blocks
 * the answer never changes, so each block is compared once with the blocks around it (no further
 * away than any trace is long), by the first query that needs it; from then on only the parts in
 * memory are compared, by their traces. What is remembered may name a trace too many, whose other
 * block is gone: it is then put together for nothing. Any thread. */
#pragma once
#include "os/thread.h"
#include "store/local/budget.h"
#include "store/store.h"

struct sf_local;
struct sf_parted; /* parted.h */
struct sf_snapshot;

struct sf_doubled { /* of one block */
    uint64_t block;
    bool is_compared; /* with all around it; else the list lacks pairs */
    uint32_t *traces; /* numbers in the block, in no order; some may be there several times */
    uint32_t n, cap;
};

struct sf_doubles {
    struct sf_budget *budget;
    struct sf_mutex lock; /* guards all below; takes nothing */
    struct sf_doubled *list;
    uint32_t n, cap;
    size_t n_traces, counted_len;
    uint64_t n_compared; /* how often blocks were */
};

void sf_doubles_init(struct sf_doubles *d, struct sf_budget *budget);
void sf_doubles_done(struct sf_doubles *d); /* a zeroed one is fine */
void sf_doubles_drop_block(struct sf_doubles *d, uint64_t block);

/* Fills `p` with the traces of runs in [from, to] (0 and 0: all) that have a span twice, and
 * perhaps some that do not. */
enum sf_err sf_doubles_find(struct sf_parted *p, const struct sf_snapshot *s, struct sf_local *l,
                            int64_t from_ns, int64_t to_ns, struct sf_query_ctx *q,
                            struct sf_arena scratch, struct sf_why *why);
